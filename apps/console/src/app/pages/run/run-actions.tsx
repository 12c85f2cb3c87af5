import { isClientError, type Run } from "@stackwright/client";
import { countsText } from "@stackwright/plan-view/lines";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useId, useState } from "react";
import { Dialog } from "../../parts/dialog.tsx";
import { ProblemBox } from "../../parts/states.tsx";
import { useNow } from "../../parts/time.tsx";
import { planViewQuery } from "../../plan/plan-view-query.ts";
import { mayDo, useServer } from "../../session/server-context.tsx";
import { planSetPath, stackPath } from "../use-place.ts";
import { countingApprovals } from "./approval-time.ts";

const DECIDABLE = new Set(["awaiting_approval", "planned"]);
const CANCELABLE = new Set([
  "queued",
  "preparing",
  "planning",
  "planned",
  "awaiting_approval",
  "policy_failed",
  "approved",
  "applying",
]);
const ENDED_BADLY = new Set(["failed", "partially_applied", "canceled", "discarded", "superseded"]);

interface RunActionsProps {
  readonly run: Run;
  readonly place: { readonly project: string; readonly stack: string };
}

type Action = "approve" | "override" | "discard" | "cancel" | "force" | "retry";

/** What may be decided about a run. Every decision is confirmed; what the credential may not do is said, not hidden. */
export function RunActions({
  run,
  place,
  isStale,
}: RunActionsProps & {
  /** The state was changed since the plan was made: there is nothing to approve. */
  readonly isStale: boolean;
}) {
  const [open, setOpen] = useState<Action>();
  const { caller } = useServer();
  if (run.mode === "command") return null;
  const isAllowed = mayDo(caller, "deployer", place.project);
  const hint = isAllowed ? undefined : "This needs the role registry:deployer.";
  const { plan_set: set } = run;
  // The plans of a set are decided together.
  const canDecide = DECIDABLE.has(run.phase) && run.plan_digest !== undefined && set === undefined;
  const isRefused = run.phase === "policy_failed" && run.plan_digest !== undefined;
  const close = (): void => setOpen(undefined);
  const button = (action: Action, label: string, tone = ""): React.ReactNode => (
    <button
      type="button"
      className={tone}
      disabled={!isAllowed}
      title={hint}
      onClick={() => setOpen(action)}
    >
      {label}
    </button>
  );
  return (
    <>
      {set !== undefined && (
        <Link className="button" to={planSetPath(place.project, set)}>
          Plan set
        </Link>
      )}
      {canDecide && !isStale && button("approve", "Approve…", "primary")}
      {canDecide && isStale && button("retry", "Plan again…", "primary")}
      {isRefused && button("override", "Override policies…", "danger")}
      {(canDecide || isRefused) && button("discard", "Discard…")}
      {CANCELABLE.has(run.phase) && run.cancel === undefined && button("cancel", "Cancel…")}
      {CANCELABLE.has(run.phase) &&
        run.cancel !== undefined &&
        mayDo(caller, "admin", place.project) &&
        button("force", "End at once…", "danger")}
      {ENDED_BADLY.has(run.phase) && button("retry", "Run again…")}
      {open === "approve" && !isStale && <ApproveDialog run={run} place={place} onClose={close} />}
      {open === "override" && <OverrideDialog run={run} place={place} onClose={close} />}
      {open === "discard" && (
        <DecideDialog action="discard" run={run} place={place} onClose={close} />
      )}
      {open === "cancel" && (
        <DecideDialog action="cancel" run={run} place={place} onClose={close} />
      )}
      {open === "force" && <DecideDialog action="force" run={run} place={place} onClose={close} />}
      {open === "retry" && <RetryDialog run={run} place={place} onClose={close} />}
    </>
  );
}

interface DialogProps extends RunActionsProps {
  readonly onClose: () => void;
}

/** Reads the run again after a decision, whether or not it was taken. */
function useRefresh({ run, place }: RunActionsProps) {
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ queryKey: ["run", place.project, place.stack, run.id] });
}

function ApproveDialog({ run, place, onClose }: DialogProps) {
  const { client } = useServer();
  const queries = useQueryClient();
  const id = useId();
  const [comment, setComment] = useState("");
  const [typed, setTyped] = useState("");
  const refresh = useRefresh({ run, place });
  const nowMs = useNow();
  const at = { ...place, run: run.id };
  const digest = run.plan_digest ?? "";
  const view = useQuery(planViewQuery(client, at, digest));
  const summary = view.data?.summary;
  const destroyed = summary === undefined ? 0 : summary.delete + summary.replace;
  const approve = useMutation({
    mutationFn: async () => client.approveRun({ ...at, body: { plan_digest: digest, comment } }),
    onSuccess: onClose,
    onSettled: refresh,
    // The page says who changed what, and offers another plan.
    onError: async (error) => {
      if (!isClientError(error, "plan_stale")) return;
      await queries.invalidateQueries({
        queryKey: ["newest-revision", place.project, place.stack],
      });
    },
  });
  const isReady = summary !== undefined && (destroyed === 0 || typed === place.stack);
  return (
    <Dialog
      title={`Approve run ${run.number}`}
      confirm="Approve"
      tone={destroyed > 0 ? "danger" : "primary"}
      isBusy={approve.isPending}
      isReady={isReady}
      onConfirm={() => approve.mutate()}
      onClose={onClose}
      problem={approve.error !== null && <ApprovalProblem error={approve.error} />}
    >
      <p>
        The plan <code>{digest.slice(0, 12)}</code> of{" "}
        <strong>
          {place.project}/{place.stack}
        </strong>{" "}
        is applied as it was shown
        {run.required_approvals > 1 &&
          `, once ${run.required_approvals} approvals are there (${countingApprovals(run, nowMs).length} so far)`}
        .
      </p>
      {summary !== undefined && (
        <p>
          {countsText(summary)}
          {summary.replace > 0 && (
            <>
              , of which <strong className="bad">{summary.replace} to replace</strong>
            </>
          )}
        </p>
      )}
      {view.error !== null && <ProblemBox error={view.error} />}
      <label htmlFor={`${id}-comment`}>Comment</label>
      <input
        id={`${id}-comment`}
        value={comment}
        maxLength={1000}
        onChange={(event) => setComment(event.target.value)}
      />
      {destroyed > 0 && (
        <>
          <label htmlFor={`${id}-name`}>
            {destroyed} {destroyed === 1 ? "object is" : "objects are"} destroyed. Type the name of
            the stack, <code>{place.stack}</code>, to confirm
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

function ApprovalProblem({ error }: { readonly error: unknown }) {
  if (isClientError(error, "plan_changed")) {
    return (
      <p className="problem" role="alert">
        The run has another plan by now. Close this, read the new plan, and decide again.
      </p>
    );
  }
  return <ProblemBox error={error} />;
}

function OverrideDialog({ run, place, onClose }: DialogProps) {
  const { client } = useServer();
  const id = useId();
  const [reason, setReason] = useState("");
  const refresh = useRefresh({ run, place });
  const override = useMutation({
    mutationFn: async () =>
      client.overridePolicies({
        ...place,
        run: run.id,
        body: { plan_digest: run.plan_digest ?? "", reason },
      }),
    onSuccess: onClose,
    onSettled: refresh,
  });
  return (
    <Dialog
      title={`Override policies for run ${run.number}`}
      confirm="Override"
      tone="danger"
      isBusy={override.isPending}
      isReady={reason.trim() !== ""}
      onConfirm={() => override.mutate()}
      onClose={onClose}
      problem={override.error !== null && <ProblemBox error={override.error} />}
    >
      <p>The plan passes although policies forbid it, and waits for its approvals.</p>
      <label htmlFor={id}>Reason, which is shown to other users</label>
      <input
        id={id}
        value={reason}
        maxLength={1000}
        onChange={(event) => setReason(event.target.value)}
      />
    </Dialog>
  );
}

const DECISIONS = {
  discard: {
    title: "Discard the plan",
    confirm: "Discard",
    text: "The plan is not applied, and the run ends. The next run of the stack begins.",
  },
  cancel: {
    title: "Cancel the run",
    confirm: "Cancel the run",
    text: "No further steps begin. Steps in progress may end; what was done stays done and is recorded.",
  },
  force: {
    title: "End the run at once",
    confirm: "End at once",
    text: "Providers are interrupted. What they were doing may be left half done; the next run of the stack recovers it.",
  },
} as const;

function DecideDialog({
  action,
  run,
  place,
  onClose,
}: DialogProps & { readonly action: keyof typeof DECISIONS }) {
  const { client } = useServer();
  const id = useId();
  const [reason, setReason] = useState("");
  const refresh = useRefresh({ run, place });
  const at = { ...place, run: run.id };
  const decide = useMutation({
    mutationFn: async () =>
      action === "discard"
        ? client.discardRun({ ...at, body: { reason } })
        : client.cancelRun({ ...at, body: { force: action === "force" } }),
    onSuccess: onClose,
    onSettled: refresh,
  });
  const { title, confirm, text } = DECISIONS[action];
  return (
    <Dialog
      title={title}
      confirm={confirm}
      tone="danger"
      isBusy={decide.isPending}
      onConfirm={() => decide.mutate()}
      onClose={onClose}
      problem={decide.error !== null && <ProblemBox error={decide.error} />}
    >
      <p>{text}</p>
      {action === "discard" && (
        <>
          <label htmlFor={id}>Reason</label>
          <input
            id={id}
            value={reason}
            maxLength={1000}
            onChange={(event) => setReason(event.target.value)}
          />
        </>
      )}
    </Dialog>
  );
}

function RetryDialog({ run, place, onClose }: DialogProps) {
  const { client } = useServer();
  const navigate = useNavigate();
  const refresh = useRefresh({ run, place });
  // What waits has the stack: it gives it up first.
  const isWaiting = DECIDABLE.has(run.phase);
  const retry = useMutation({
    mutationFn: async () => {
      const at = { ...place, run: run.id };
      if (isWaiting) {
        await client.discardRun({ ...at, body: { reason: "its plan was out of date" } });
      }
      return client.retryRun({ ...at, body: { auto_apply: false } });
    },
    onSuccess: ({ data }) => {
      onClose();
      void navigate({ to: `${stackPath(place)}/r/${data.id}` });
    },
    onSettled: refresh,
  });
  return (
    <Dialog
      title={isWaiting ? "Plan again" : `Run ${run.number} again`}
      confirm={isWaiting ? "Plan again" : "Run again"}
      isBusy={retry.isPending}
      onConfirm={() => retry.mutate()}
      onClose={onClose}
      problem={retry.error !== null && <ProblemBox error={retry.error} />}
    >
      <p>
        {isWaiting && "The plan that is out of date is discarded. "}A new run makes a plan of the
        same configuration, and waits for an approval.
      </p>
    </Dialog>
  );
}
