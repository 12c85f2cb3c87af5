import type { StackDrift } from "@stackwright/client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { Dialog } from "../../parts/dialog.tsx";
import { ProblemBox } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { mayDo, useServer } from "../../session/server-context.tsx";
import { useStackPlace } from "../use-place.ts";

type Reaction = NonNullable<StackDrift["rule"]>["reaction"];

const REACTIONS: Readonly<Record<Reaction, string>> = {
  report: "only report it",
  plan: "plan to restore, and wait for approval",
  repair: "restore without an approval",
};

/** When a stack is checked for drift, and what follows where some is found. */
export function DriftRuleCard({ drift }: { readonly drift: StackDrift }) {
  const place = useStackPlace();
  const { client, caller } = useServer();
  const queries = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const { rule, next_at: nextAt } = drift;
  const take = useMutation({
    mutationFn: async () => client.deleteDriftRule(place),
    onSettled: async () =>
      queries.invalidateQueries({ queryKey: ["drift", place.project, place.stack] }),
  });
  return (
    <section className="card" aria-labelledby="rule">
      <h2 id="rule">Rule</h2>
      {rule === undefined ? (
        <p className="quiet">No rule: neither the stack nor its project has one.</p>
      ) : (
        <dl className="facts-list">
          <div>
            <dt>Checked</dt>
            <dd>{rule.paused ? "paused" : `every ${spanText(rule.every_minutes)}`}</dd>
          </div>
          <div>
            <dt>Where drift is found</dt>
            <dd>{REACTIONS[rule.reaction]}</dd>
          </div>
          <div>
            <dt>From</dt>
            <dd>
              {rule.from === "project" ? "the project" : "this stack"}
              {rule.actor !== undefined && `, set by ${rule.actor}`}
            </dd>
          </div>
          {nextAt !== undefined && (
            <div>
              <dt>Next check</dt>
              <dd>
                <Time at={nextAt} />
              </dd>
            </div>
          )}
        </dl>
      )}
      {mayDo(caller, "deployer", place.project) && (
        <div className="actions">
          <button type="button" onClick={() => setOpen(true)}>
            {rule?.from === "stack" ? "Change the rule…" : "Set a rule…"}
          </button>
          {rule?.from === "stack" && (
            <button type="button" disabled={take.isPending} onClick={() => take.mutate()}>
              Follow the project
            </button>
          )}
        </div>
      )}
      {take.error !== null && <ProblemBox error={take.error} />}
      {isOpen && <DriftRuleDialog rule={rule} onClose={() => setOpen(false)} />}
    </section>
  );
}

interface DriftRuleDialogProps {
  readonly rule: StackDrift["rule"];
  readonly onClose: () => void;
}

function DriftRuleDialog({ rule, onClose }: DriftRuleDialogProps) {
  const place = useStackPlace();
  const { client } = useServer();
  const queries = useQueryClient();
  const id = useId();
  const [minutes, setMinutes] = useState(String(rule?.every_minutes ?? 1_440));
  const [reaction, setReaction] = useState<Reaction>(rule?.reaction ?? "report");
  const [isPaused, setPaused] = useState(rule?.paused ?? false);
  const every = Number(minutes);
  const save = useMutation({
    mutationFn: async () =>
      client.setDriftRule({
        ...place,
        body: { every_minutes: every, reaction, paused: isPaused },
      }),
    onSuccess: onClose,
    onSettled: async () =>
      queries.invalidateQueries({ queryKey: ["drift", place.project, place.stack] }),
  });
  return (
    <Dialog
      title={`Drift of ${place.project}/${place.stack}`}
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

/** `6 hours` */
function spanText(minutes: number): string {
  for (const [unit, size] of [
    ["day", 1_440],
    ["hour", 60],
  ] as const) {
    if (minutes % size !== 0) continue;
    const count = minutes / size;
    return count === 1 ? unit : `${count} ${unit}s`;
  }
  return `${minutes} minutes`;
}
