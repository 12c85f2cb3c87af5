import { type InputHTMLAttributes, type ReactNode, useId } from "react";

interface TextFieldProps
  extends Omit<InputHTMLAttributes<HTMLInputElement>, "id" | "onChange" | "value"> {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** Why the server refused what is in it. */
  readonly problem?: string | undefined;
  /** What has to be known of it, below it. */
  readonly note?: ReactNode;
}

/** A field of a dialog, with what the server said of it. */
export function TextField({ label, value, onChange, problem, note, ...input }: TextFieldProps) {
  const id = useId();
  const described = [
    ...(problem === undefined ? [] : [`${id}-problem`]),
    ...(note === undefined ? [] : [`${id}-note`]),
  ];
  return (
    <>
      <label htmlFor={id}>{label}</label>
      <input
        {...input}
        id={id}
        value={value}
        aria-invalid={problem !== undefined}
        aria-describedby={described.length === 0 ? undefined : described.join(" ")}
        onChange={(event) => onChange(event.target.value)}
      />
      {problem !== undefined && (
        <p id={`${id}-problem`} role="alert" className="problem-line">
          {problem}
        </p>
      )}
      {note !== undefined && (
        <p id={`${id}-note`} className="quiet">
          {note}
        </p>
      )}
    </>
  );
}
