import { useState } from "react";

interface CopiedTextProps {
  readonly text: string;
  /** What is copied, in the name of the button. */
  readonly what: string;
}

/** A text to take elsewhere: a button copies it, and where the browser does not let it, one click selects all of it. */
export function CopiedText({ text, what }: CopiedTextProps) {
  const [said, setSaid] = useState("");
  const copy = async (): Promise<void> => {
    try {
      // Without TLS, pages of other hosts than this machine have no clipboard.
      await navigator.clipboard.writeText(text);
      setSaid("Copied.");
    } catch {
      setSaid("The browser does not let this page copy: select the text, and copy it.");
    }
  };
  return (
    <>
      <code className="command">{text}</code>
      <div className="inline">
        <button type="button" onClick={() => void copy()}>
          Copy {what}
        </button>
        <span role="status">{said}</span>
      </div>
    </>
  );
}
