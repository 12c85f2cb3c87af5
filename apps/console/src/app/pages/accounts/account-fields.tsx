import type { ReactNode } from "react";
import { fieldProblem } from "../../parts/field-problem.ts";
import { TextField } from "../../parts/text-field.tsx";

/** What an account is called. */
export interface AccountTexts {
  readonly display_name: string;
  readonly description: string;
}

interface AccountFieldsProps {
  readonly value: AccountTexts;
  readonly error: unknown;
  readonly onChange: (value: AccountTexts) => void;
  /** Said below a field. */
  readonly notes?: Partial<Record<keyof AccountTexts, ReactNode>>;
}

/** The fields that a new account and a changed one have. */
export function AccountFields({ value, error, onChange, notes = {} }: AccountFieldsProps) {
  return (
    <>
      <TextField
        label="Name to show"
        value={value.display_name}
        maxLength={256}
        problem={fieldProblem(error, "display_name")}
        note={notes.display_name}
        onChange={(next) => onChange({ ...value, display_name: next })}
      />
      <TextField
        label="What it is for"
        value={value.description}
        maxLength={1_024}
        problem={fieldProblem(error, "description")}
        note={notes.description}
        onChange={(next) => onChange({ ...value, description: next })}
      />
    </>
  );
}
