import type { DiffLine, LineSign } from "@stackwright/plan-view/lines";

const CLASSES: Readonly<Record<LineSign, string>> = {
  "+": "add",
  "-": "remove",
  "~": "change",
  " ": "same",
};
const WORDS: Readonly<Record<LineSign, string>> = {
  "+": "added: ",
  "-": "removed: ",
  "~": "changed: ",
  " ": "",
};

/** The lines of a difference. The sign of each says the same as its color. */
export function DiffText({ lines }: { readonly lines: readonly DiffLine[] }) {
  if (lines.length === 0) return null;
  return (
    <pre className="diff" tabIndex={0}>
      {lines.map(({ depth, sign, text, note }, index) => (
        // The lines of a difference never change.
        // oxlint-disable-next-line react/no-array-index-key
        <span key={index} className={CLASSES[sign]}>
          <span aria-hidden="true">{sign} </span>
          <span className="hidden">{WORDS[sign]}</span>
          {"  ".repeat(depth)}
          {text}
          {note !== undefined && <em># {note}</em>}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}
