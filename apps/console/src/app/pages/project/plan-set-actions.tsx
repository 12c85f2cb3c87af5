import type { PlanSet } from "@stackwright/client";
import { useMutation, useQueries, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { Dialog } from "../../parts/dialog.tsx";
import { ProblemBox } from "../../parts/states.tsx";
import { planViewQuery } from "../../plan/plan-view-query.ts";
import { mayDo, useServer } from "../../session/server-context.tsx";

type Decision = "approve" | "discard" | "cancel";

interface PlanSetActionsProps {
  readonly set: PlanSet;
  readonly project: string;
}

const WORDS: Readonly<Record<Decision, { readonly title: string; readonly text: string }>> = {
  approve: {
    title: "Approve all plans",
    text: "The plans are applied as they are shown, one stack after the other. The first that does not end well ends the set.",
  },
  discard: { title: "Discard all plans", text: "No plan of the set is applied." },
  cancel: {
    title: "Cancel the set",
    text: "The run in progress is canceled, those behind it are discarded. What was applied stays.",
  },
};

/** What may be decided about a set. What the credential may not do is said, not hidden. */
export function PlanSetActions({ set, project }: PlanSetActionsProps) {
  const [open, setOpen] = useState<Decision>();
  const { caller } = useServer();
  const isAllowed = mayDo(caller, "deployer", project);
  const waits = set.phase === "awaiting_approval" && set.digest !== undefined;
  const button = (decision: Decision, label: string, tone = ""): React.ReactNode => (
    <button
      type="button"
      className={tone}
      disabled={!isAllowed}
      title={isAllowed ? undefined : "This needs the role registry:deployer."}
      onClick={() => setOpen(decision)}
    >
      {label}
    </button>
  );
  return (
    <>
      {waits && button("approve", "Approve all…", "primary")}
      {waits && button("discard", "Discard…")}
      {(set.phase === "planning" || set.phase === "applying") && button("cancel", "Cancel…")}
      {open !== undefined && (
        <DecisionDialog
          decision={open}
          set={set}
          project={project}
          onClose={() => setOpen(undefined)}
        />
      )}
    </>
  );
}

function DecisionDialog({
  decision,
  set,
  project,
  onClose,
}: PlanSetActionsProps & { readonly decision: Decision; readonly onClose: () => void }) {
  const { client } = useServer();
  const queries = useQueryClient();
  const id = useId();
  const [text, setText] = useState("");
  const [typed, setTyped] = useState("");
  const at = { project, plan_set: set.id };
  const decide = useMutation({
    mutationFn: async () => {
      if (decision === "approve") {
        return client.approvePlanSet({
          ...at,
          body: { digest: set.digest ?? "", comment: text },
        });
      }
      if (decision === "discard") return client.discardPlanSet({ ...at, body: { reason: text } });
      return client.cancelPlanSet({ ...at, body: {} });
    },
    onSuccess: onClose,
    onSettled: async () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ["plan-set", project, set.id] }),
        queries.invalidateQueries({ queryKey: ["plan-sets", project] }),
      ]),
  });
  // What is not shown is not approved: the dialog waits for the plan of each stack.
  const views = useQueries({
    queries: set.stacks
      .filter(({ phase }) => phase === "awaiting_approval")
      .map(({ stack, run, plan_digest: digest = "" }) =>
        planViewQuery(client, { project, stack, run }, digest),
      ),
  });
  const areShown = views.every(({ data }) => data !== undefined);
  const failed = views.find(({ error }) => error !== null);
  const destroyed = views.reduce(
    (sum, { data }) => sum + (data === undefined ? 0 : data.summary.delete + data.summary.replace),
    0,
  );
  const mustType = decision === "approve" && destroyed > 0;
  const { title, text: explanation } = WORDS[decision];
  return (
    <Dialog
      title={title}
      confirm={title}
      tone={decision === "approve" && !mustType ? "primary" : "danger"}
      isBusy={decide.isPending}
      isReady={decision !== "approve" || (areShown && (!mustType || typed === project))}
      onConfirm={() => decide.mutate()}
      onClose={onClose}
      problem={decide.error !== null && <ProblemBox error={decide.error} />}
    >
      <p>{explanation}</p>
      {decision === "approve" && failed !== undefined && <ProblemBox error={failed.error} />}
      {decision !== "cancel" && (
        <>
          <label htmlFor={`${id}-text`}>{decision === "approve" ? "Comment" : "Reason"}</label>
          <input
            id={`${id}-text`}
            value={text}
            maxLength={1000}
            onChange={(event) => setText(event.target.value)}
          />
        </>
      )}
      {mustType && (
        <>
          <label htmlFor={`${id}-name`}>
            {destroyed} {destroyed === 1 ? "object is" : "objects are"} destroyed. Type the name of
            the project, <code>{project}</code>, to confirm
          </label>
          <input
            id={`${id}-name`}
            value={typed}
            autoComplete="off"
            spellCheck={false}
            onChange={(event) => setTyped(event.target.value)}
          />
        </>
      )}
    </Dialog>
  );
}
