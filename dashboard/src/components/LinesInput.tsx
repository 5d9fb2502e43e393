import { useState } from "react";
import { TextArea } from "./Input";

const split = (text: string) => text.split("\n").filter((line) => line.trim() !== "");

/** A list of texts, one per line; for texts that may contain commas. */
export function LinesInput({ values, onChange, placeholder, rows = 3, ...rest }: { values: readonly string[]; onChange: (values: string[]) => void; placeholder?: string; rows?: number; "aria-label"?: string }) {
  const [text, setText] = useState(values.join("\n"));
  return (
    <TextArea
      mono
      spellCheck={false}
      rows={Math.max(rows, Math.min(values.length + 1, 10))}
      value={text}
      placeholder={placeholder}
      onChange={(event) => {
        setText(event.target.value);
        onChange(split(event.target.value));
      }}
      {...rest}
    />
  );
}
