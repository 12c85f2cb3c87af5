import type { StackDrift } from "@stackwright/client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ProblemBox } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { mayDo, useServer } from "../../session/server-context.tsx";
import { DriftRuleDialog } from "../drift-rule/drift-rule-dialog.tsx";
import { REACTIONS, spanText } from "../drift-rule/rule-text.ts";
import { useStackPlace } from "../use-place.ts";

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
          {!rule.paused &&
            rule.parts.map(({ types, every_minutes: minutes }) => (
              <div key={types.join(" ")}>
                <dt>{types.join(", ")}</dt>
                <dd>every {spanText(minutes)}</dd>
              </div>
            ))}
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
      {isOpen && (
        <DriftRuleDialog
          title={`Drift of ${place.project}/${place.stack}`}
          rule={rule}
          onSave={async (body) => void (await client.setDriftRule({ ...place, body }))}
          queryKey={["drift", place.project, place.stack]}
          onClose={() => setOpen(false)}
        />
      )}
    </section>
  );
}
