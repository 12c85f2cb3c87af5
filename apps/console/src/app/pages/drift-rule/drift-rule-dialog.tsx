import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { Dialog } from "../../parts/dialog.tsx";
import { ProblemBox } from "../../parts/states.tsx";
import { type DriftRule, REACTIONS, type Reaction } from "./rule-text.ts";

interface DriftRuleDialogProps {
  readonly title: string;
  /** The one that is changed, or that counts until now. */
  readonly rule: DriftRule | undefined;
  readonly onSave: (rule: DriftRule) => Promise<void>;
  /** What shows the rule. */
  readonly queryKey: readonly string[];
  readonly onClose: () => void;
}

/** Sets when stacks are checked for drift, and what follows where some is found. */
export function DriftRuleDialog(props: DriftRuleDialogProps) {
  const { title, rule, onSave, queryKey, onClose } = props;
  const queries = useQueryClient();
  const id = useId();
  const [minutes, setMinutes] = useState(String(rule?.every_minutes ?? 1_440));
  const [reaction, setReaction] = useState<Reaction>(rule?.reaction ?? "report");
  const [isPaused, setPaused] = useState(rule?.paused ?? false);
  const every = Number(minutes);
  const save = useMutation({
    // What this dialog does not show stays as it is.
    mutationFn: async () =>
      onSave({ every_minutes: every, reaction, paused: isPaused, parts: rule?.parts ?? [] }),
    onSuccess: onClose,
    onSettled: async () => queries.invalidateQueries({ queryKey }),
  });
  return (
    <Dialog
      title={title}
      confirm="Save"
      isReady={Number.isInteger(every) && every > 0}
      isBusy={save.isPending}
      onConfirm={() => save.mutate()}
      onClose={onClose}
      problem={save.error !== null && <ProblemBox error={save.error} />}
    >
      <label htmlFor={`${id}-minutes`}>Minutes between two checks</label>
      <input
        id={`${id}-minutes`}
        type="number"
        min="5"
        max={60 * 24 * 90}
        step="1"
        required
        value={minutes}
        onChange={(event) => setMinutes(event.target.value)}
      />
      <label htmlFor={`${id}-reaction`}>Where drift is found</label>
      <select
        id={`${id}-reaction`}
        value={reaction}
        onChange={(event) => setReaction(event.target.value as Reaction)}
      >
        {Object.entries(REACTIONS).map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
      <label className="check">
        <input
          type="checkbox"
          checked={isPaused}
          onChange={(event) => setPaused(event.target.checked)}
        />
        paused: no check is made by itself
      </label>
    </Dialog>
  );
}
