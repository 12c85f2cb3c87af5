import { useState } from "react";
import { usePath } from "../../parts/use-address.ts";
import { mayDo, useServer } from "../../session/server-context.tsx";
import { DriftRuleDialog } from "../drift-rule/drift-rule-dialog.tsx";
import { type DriftRule, REACTIONS, spanText } from "../drift-rule/rule-text.ts";

/** When the stacks of a project without a rule of their own are checked for drift. Admins change it. */
export function ProjectDriftCard({ rule }: { readonly rule: DriftRule | undefined }) {
  const { project = "" } = usePath<"project">();
  const { client, caller } = useServer();
  /** The rule when the form was opened, and not the one that is shown behind it meanwhile. */
  const [opened, setOpened] = useState<{ readonly rule: DriftRule | undefined }>();
  const save = async (drift: DriftRule): Promise<void> => {
    const { data, etag } = await client.showProject({ project });
    if (JSON.stringify(data.drift) !== JSON.stringify(opened?.rule)) {
      throw new Error("the rule was changed meanwhile; open it again to see how");
    }
    await client.changeProject({
      project,
      body: { drift },
      ...(etag !== undefined && { ifMatch: etag }),
    });
  };
  return (
    <section className="card" aria-labelledby="drift-rule">
      <h2 id="drift-rule">Drift</h2>
      {rule === undefined ? (
        <p className="quiet">No rule: stacks are checked where they have one of their own.</p>
      ) : (
        <dl className="facts-list">
          <div>
            <dt>Checked</dt>
            <dd>{rule.paused === true ? "paused" : `every ${spanText(rule.every_minutes)}`}</dd>
          </div>
          <div>
            <dt>Where drift is found</dt>
            <dd>{REACTIONS[rule.reaction ?? "report"]}</dd>
          </div>
        </dl>
      )}
      {mayDo(caller, "admin", project) && (
        <div className="actions">
          <button type="button" onClick={() => setOpened({ rule })}>
            {rule === undefined ? "Set a rule…" : "Change the rule…"}
          </button>
        </div>
      )}
      {opened !== undefined && (
        <DriftRuleDialog
          title={`Drift of the stacks of ${project}`}
          rule={opened.rule}
          onSave={save}
          queryKey={["project", project]}
          onClose={() => setOpened(undefined)}
        />
      )}
    </section>
  );
}
