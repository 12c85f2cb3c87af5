import { useMutation } from "@tanstack/react-query";
import { useId, useState } from "react";
import { Dialog } from "../../parts/dialog.tsx";
import { ProblemBox } from "../../parts/states.tsx";

type Category = "terraform" | "env";

/** A variable as it is edited. Of a sensitive one the value is not known. */
export interface EditedVariable {
  readonly category: Category;
  readonly key: string;
  readonly isNew: boolean;
  readonly sensitive: boolean;
  readonly value: string;
  readonly description: string;
}

/** What a dialog begins with that adds a variable. */
export const NEW_VARIABLE: EditedVariable = {
  category: "terraform",
  key: "",
  isNew: true,
  sensitive: false,
  value: "",
  description: "",
};

interface VariableDialogProps {
  readonly variable: EditedVariable;
  /** What is there: a variable that is added replaces none of it. */
  readonly present: readonly Pick<EditedVariable, "category" | "key">[];
  readonly save: (draft: EditedVariable) => Promise<unknown>;
  /** Reads again what shows the variable. */
  readonly onSettled: () => Promise<void>;
  readonly onClose: () => void;
}

/** Sets a variable of a stack or of a set. A sensitive value can be written, and is never shown. */
export function VariableDialog({
  variable,
  present,
  save,
  onSettled,
  onClose,
}: VariableDialogProps) {
  const id = useId();
  const [draft, setDraft] = useState(variable);
  const isTaken =
    variable.isNew &&
    present.some(({ category, key }) => category === draft.category && key === draft.key);
  const saving = useMutation({
    mutationFn: async () => save(draft),
    onSuccess: onClose,
    onSettled,
  });
  return (
    <Dialog
      title={variable.isNew ? "Add a variable" : `Change ${variable.key}`}
      confirm="Save"
      isBusy={saving.isPending}
      // The value of a sensitive one is not known here, so that a draft without one would replace it by nothing.
      isReady={draft.key !== "" && !isTaken && !(variable.sensitive && draft.value === "")}
      onConfirm={() => saving.mutate()}
      onClose={onClose}
      problem={saving.error !== null && <ProblemBox error={saving.error} />}
    >
      {variable.isNew && (
        <>
          <label htmlFor={`${id}-category`}>Category</label>
          <select
            id={`${id}-category`}
            value={draft.category}
            onChange={(event) => setDraft({ ...draft, category: event.target.value as Category })}
          >
            <option value="terraform">terraform: a variable of the configuration</option>
            <option value="env">env: the environment of providers</option>
          </select>
          <label htmlFor={`${id}-key`}>Name</label>
          <input
            id={`${id}-key`}
            value={draft.key}
            spellCheck={false}
            onChange={(event) => setDraft({ ...draft, key: event.target.value })}
          />
          {isTaken && (
            <p role="status">
              <code>{draft.key}</code> is there already: change it in the list.
            </p>
          )}
        </>
      )}
      <label htmlFor={`${id}-value`}>Value</label>
      <textarea
        id={`${id}-value`}
        rows={3}
        spellCheck={false}
        placeholder={variable.sensitive ? "a new value; the present one is not shown" : ""}
        value={draft.value}
        onChange={(event) => setDraft({ ...draft, value: event.target.value })}
      />
      <label className="check">
        <input
          type="checkbox"
          checked={draft.sensitive}
          disabled={variable.sensitive}
          onChange={(event) => setDraft({ ...draft, sensitive: event.target.checked })}
        />
        sensitive: it is never shown again
      </label>
    </Dialog>
  );
}
