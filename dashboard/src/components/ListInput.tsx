import { useState } from "react";
import { useFieldIds } from "./Field";
import { Tag } from "./Status";

/** A list of short texts: Enter or comma adds, Backspace removes the last. */
export function ListInput({ values, onChange, placeholder, suggestions, ...rest }: { values: readonly string[]; onChange: (values: string[]) => void; placeholder?: string; suggestions?: readonly string[]; "aria-label"?: string }) {
  const ids = useFieldIds();
  const [text, setText] = useState("");
  const list = suggestions ? `${ids.id ?? "list"}-suggestions` : undefined;
  const add = (value: string) => {
    const next = value.split(/[,\n]/).map((each) => each.trim()).filter((each) => each && !values.includes(each));
    if (next.length) onChange([...values, ...next]);
    setText("");
  };
  return (
    <span className="flex min-h-8 w-full flex-wrap items-center gap-1.5 rounded-md border border-line-control bg-surface px-2.5 py-1 control-focus phone:min-h-10">
      {values.map((value) => (
        <Tag key={value} mono onRemove={() => onChange(values.filter((each) => each !== value))} removeLabel={`Remove ${value}`}>
          {value}
        </Tag>
      ))}
      <input
        {...ids}
        {...rest}
        list={list}
        value={text}
        placeholder={values.length ? undefined : placeholder}
        className="min-w-24 flex-1 bg-transparent outline-none"
        onChange={(event) => (event.target.value.endsWith(",") ? add(event.target.value) : setText(event.target.value))}
        onBlur={() => text && add(text)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !event.metaKey && !event.ctrlKey && text) {
            event.preventDefault();
            add(text);
          } else if (event.key === "Backspace" && !text && values.length) onChange(values.slice(0, -1));
        }}
      />
      {suggestions && (
        <datalist id={list}>
          {suggestions.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
    </span>
  );
}
