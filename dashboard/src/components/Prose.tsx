/** A sentence from the API: what stands between backticks is set as code. */
export function Prose({ text }: { text: string }) {
  return text.split("`").map((part, i) => (i % 2 ? <code key={i}>{part}</code> : part));
}
