import { type NamedStack, StackDirectory, type StackReference } from "@stackwright/core";
import { type PlanSummary, type Run, Run_Mode, Run_Phase } from "@stackwright/proto/stackwright";
import { readStored, ulidTime } from "@stackwright/storage";
import type { NewTfeRun, RunPort, TfeCaller, TfePlanCounts, TfeRun } from "@stackwright/tfe";
import { AccountPlaces } from "../api/account-places.ts";
import { storeConfiguration } from "../configuration/store-configuration.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { memberPlace, type Place, RUN_KIND, runPlace } from "../domain/run-places.ts";
import { isServerError, ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { PlanRenderer } from "../plan-rendering/plan-renderer.ts";
import { cancelRun } from "../queue/cancel.ts";
import { approveRun, discardRun } from "../queue/decide.ts";
import { addRun } from "../queue/enqueue.ts";
import { overridePolicies } from "../queue/override-policies.ts";
import { isSpeculative, phaseOf } from "../queue/run-row.ts";
import { idOf, type TransactionParts, transact } from "../queue/transaction.ts";
import type { ServedParts } from "../terraform-state/served-state.ts";
import { readText } from "../vcs/read-text.ts";
import { sealRunValues } from "../worker/run-values.ts";
import { type AuditedChange, targetOf } from "./audited-change.ts";
import { AwaitedApplies } from "./awaited-applies.ts";
import { LogMarks } from "./log-marks.ts";
import { OpenLogs } from "./open-logs.ts";
import { hasOverrideRole, policyCheckOf } from "./policy-check.ts";
import { hasDocument, runLogText } from "./run-log.ts";

interface RunParts extends TransactionParts, ServedParts {
  /** `not_found` for the id of a workspace that the caller does not see. */
  readonly stackOf: (caller: TfeCaller, workspace: string) => Promise<NamedStack>;
  readonly audited: AuditedChange;
}

/** What of the plan of a run is shown with it. */
interface PlanFacts {
  readonly counts: TfePlanCounts;
  readonly hasDocument: boolean;
}

const UPLOADS = 16;
const UPLOADS_OF_ACCOUNT = 4;
/** How long the record of an upload stays. */
const UPLOAD_KEPT_MS = 24 * 3_600_000;
/** Records that one upload removes. */
const REMOVED = 10;
/** How long a request with the same upload is a repetition. */
const REPEAT_MS = 10 * 60_000;
/** How long a plan may take to be read and rendered. */
const PLAN_READ_MS = 60_000;
/** The plan of a run that has nothing to change: none is stored. */
const NO_CHANGES =
  '{"format_version":"1.2","terraform_version":"1.11.4","applyable":false,"complete":true,"errored":false}';
/** Before there is a plan, nothing says that it will have no document. */
const NO_PLAN: PlanFacts = {
  counts: { additions: 0, changes: 0, destructions: 0, imports: 0 },
  hasDocument: true,
};

const FAILED_APPLIES: ReadonlySet<string> = new Set(["failed", "partially_applied"]);

const MODES: Readonly<Record<TfeRun["mode"], Run_Mode>> = {
  normal: Run_Mode.MODE_APPLY,
  destroy: Run_Mode.MODE_DESTROY,
  "refresh-only": Run_Mode.MODE_REFRESH_ONLY,
};

function runTarget(stack: NamedStack, run: string): string {
  return `${targetOf(stack)}/runs/${run}`;
}

/** The runs of this server as those of workspaces. A run has the id of its upload, so that a request that is repeated finds it. */
export function workspaceRuns(parts: RunParts): RunPort {
  const { storage, clock, stackOf, audited } = parts;
  const renderer = new PlanRenderer({ clock });
  const marks = new LogMarks();
  const awaited = new AwaitedApplies(clock);
  const open = new OpenLogs(clock);
  const places = new AccountPlaces({ all: UPLOADS, account: UPLOADS_OF_ACCOUNT });
  const stacks = new StackDirectory({ storage });

  const readRun = async (stack: StackReference, run: string): Promise<Run | undefined> => {
    const found = await readStored(storage, "strong", idOf(RUN_KIND, runPlace({ stack, run })));
    return found && decodeRecord(RUN_KIND, found);
  };
  const summaryOf = async (stack: StackReference, run: string) => {
    const id = idOf(SERVER_KINDS.summary, runPlace({ stack, run }));
    const found = await readStored(storage, "strong", id);
    return found && decodeRecord(SERVER_KINDS.summary, found);
  };
  /** A plan as its executor has stored it, without what was secret then; undefined for one of an earlier release. */
  const storedPlan = async (stack: StackReference, run: string, until: AbortSignal) =>
    readText(parts.blobs, (await summaryOf(stack, run))?.jsonSha256 ?? "", until);
  /** A plan as commands render it; undefined where its executor knew no schemas. */
  const renderedPlan = async (stack: StackReference, run: string, until: AbortSignal) =>
    readText(parts.blobs, (await summaryOf(stack, run))?.renderedSha256 ?? "", until);
  const planFactsOf = async (stack: StackReference, run: string): Promise<PlanFacts> => {
    const summary = await summaryOf(stack, run);
    if (summary === undefined) return NO_PLAN;
    return { counts: countsOf(summary), hasDocument: hasDocument(summary) };
  };
  const policiesOf = async (stack: StackReference, run: string) => {
    const id = idOf(SERVER_KINDS.policyResult, runPlace({ stack, run }));
    const found = await readStored(storage, "strong", id);
    return found && decodeRecord(SERVER_KINDS.policyResult, found);
  };
  const uploadAt = async (stack: StackReference, id: string) => {
    const found = await readStored(
      storage,
      "strong",
      idOf(SERVER_KINDS.configurationUpload, uploadPlace(stack, id)),
    );
    return found && decodeRecord(SERVER_KINDS.configurationUpload, found);
  };
  const request = async (caller: TfeCaller, given: NewTfeRun): Promise<TfeRun> => {
    const stack = await stackOf(caller, given.workspace);
    const { reference } = stack;
    const upload = await uploadAt(reference, given.upload);
    if (upload === undefined) {
      throw new ServerError("unprocessable", "the configuration version was not uploaded");
    }
    const former = await readRun(reference, given.upload);
    if (former !== undefined && clock.wallMs() - Number(former.createdAtMs) < REPEAT_MS) {
      return viewOf(former, given.workspace, NO_PLAN);
    }
    if (stack.adoption === undefined) await recordFreshStart(stack, caller);
    const run = former === undefined ? given.upload : parts.token();
    const values = given.variables;
    const isEmpty = Object.keys(values).length === 0;
    const wanted = {
      reference: { stack: reference, run },
      stackName: stack.name,
      configuration: upload.digest,
      mode: MODES[given.mode],
      actor: caller.actor,
      message: given.message,
      planOnly: given.planOnly,
      savedPlan: given.savedPlan,
      skipRefresh: !given.refresh,
      targets: given.targets,
      replace: given.replace,
      autoApply: given.autoApply ?? false,
      ...(!isEmpty && {
        variables: await sealRunValues(parts.keys, { stack: reference, run }, values),
      }),
    };
    const made = await transact(audited(caller, "CreateRun", targetOf(stack)), async (tx) => {
      // A repetition may have been faster.
      const known = await tx.find(RUN_KIND, runPlace(wanted.reference));
      return known?.message ?? addRun(tx, wanted);
    });
    return viewOf(made, given.workspace, NO_PLAN);
  };
  /** The block that names this server is no state elsewhere; where commands keep a state here, no run is taken. */
  const recordFreshStart = async (
    { name, reference }: NamedStack,
    { actor }: TfeCaller,
  ): Promise<void> => {
    await stacks.recordOrigin(reference, name, {
      kind: "fresh",
      timeMs: clock.wallMs(),
      actor,
      evidence: ["a run was requested through the cloud block"],
      forced: false,
    });
  };

  return {
    announceUpload: () => parts.token(),
    upload: async (caller, workspace, id) => {
      const { reference } = await stackOf(caller, workspace);
      const found = await uploadAt(reference, id);
      return found && { speculative: found.speculative };
    },
    storeUpload: async (caller, { workspace, id, speculative, root }, content, signal) => {
      const named = await stackOf(caller, workspace);
      const { reference, name } = named;
      const { account, actor } = caller;
      using _place = places.take(account);
      const stored = { stack: reference, stackName: name, actor, content, signal, root };
      const { version } = await storeConfiguration(parts, stored);
      const { tenancy, name: prefix } = memberPlace(reference, "");
      const { type } = SERVER_KINDS.configurationUpload;
      const all = await storage.list("strong", type, tenancy, prefix);
      const old = all.filter((one) => isOld(one.id.name, clock.wallMs(), prefix)).slice(0, REMOVED);
      await transact(audited(caller, "StoreConfiguration", targetOf(named)), async (tx) => {
        const place = uploadPlace(reference, id);
        const found = await tx.find(SERVER_KINDS.configurationUpload, place);
        if (found !== undefined) {
          if (found.message.digest === version.digest) return;
          throw new ServerError("conflict", "another configuration was uploaded to this address");
        }
        for (const resource of old) {
          const row = await tx.find(SERVER_KINDS.configurationUpload, {
            tenancy,
            name: resource.id.name,
          });
          if (row !== undefined) tx.remove(row);
        }
        const { digest } = version;
        const createdAtMs = BigInt(tx.nowMs);
        tx.create(SERVER_KINDS.configurationUpload, place, {
          digest,
          speculative,
          actor,
          createdAtMs,
        });
      });
    },
    create: request,
    get: async (caller, workspace, id) => {
      const { reference } = await stackOf(caller, workspace);
      const run = await readRun(reference, id);
      if (run === undefined) return undefined;
      const policyCheck = policyCheckOf(await policiesOf(reference, id), run, caller);
      const view = viewOf(run, workspace, await planFactsOf(reference, id));
      const isAwaited = FAILED_APPLIES.has(view.phase) && view.wasApproved && awaited.has(id);
      const phase = isAwaited ? { phase: "applying" as const } : {};
      return { ...view, ...phase, openLogs: open.of(run), policyCheck };
    },
    list: async (caller, workspace) => {
      const { reference } = await stackOf(caller, workspace);
      const { tenancy, name: prefix } = memberPlace(reference, "");
      const found = await storage.list("strong", RUN_KIND.type, tenancy, prefix);
      return found
        .map((resource) => viewOf(decodeRecord(RUN_KIND, resource), workspace, NO_PLAN))
        .toSorted((a, b) => b.createdAtMs - a.createdAtMs);
    },
    approve: async (caller, { workspace, id }, comment) => {
      const named = await stackOf(caller, workspace);
      const { reference: stack } = named;
      const { actor } = caller;
      const planDigest = (await readRun(stack, id))?.planDigest ?? "";
      const noted = audited(caller, "ApproveRun", runTarget(named, id));
      await approveRun(noted, { stack, run: id }, { actor, planDigest, comment });
    },
    overridePolicies: async (caller, { workspace, id }) => {
      const named = await stackOf(caller, workspace);
      const reference = { stack: named.reference, run: id };
      const { actor } = caller;
      const run = await readRun(named.reference, id);
      const planDigest = run?.planDigest ?? "";
      const noted = audited(caller, "OverridePolicies", runTarget(named, id));
      await overridePolicies(noted, reference, {
        actor,
        reason: "through the cloud block",
        planDigest,
        requireRole: (role) => {
          if (hasOverrideRole(caller, role)) return;
          throw new ServerError("forbidden", `${actor} has not the role ${role}`);
        },
      });
      if (run?.autoApply !== true) return;
      const approved = audited(caller, "ApproveRun", runTarget(named, id));
      try {
        await approveRun(approved, reference, { actor, planDigest });
      } catch (error) {
        // The override is done. Whom the rules do not let approve leaves the plan to others, as without `auto_apply`.
        if (!isServerError(error, "forbidden", "self_approval", "conflict", "approval_expired"))
          throw error;
      }
    },
    discard: async (caller, { workspace, id }, reason) => {
      const named = await stackOf(caller, workspace);
      const { reference: stack } = named;
      const noted = audited(caller, "DiscardRun", runTarget(named, id));
      await discardRun(noted, { stack, run: id }, { actor: caller.actor, reason });
    },
    cancel: async (caller, { workspace, id }, { force }) => {
      const named = await stackOf(caller, workspace);
      const { reference: stack } = named;
      const noted = audited(caller, "CancelRun", runTarget(named, id));
      // Of others it is a second request, which ends a run that was given its time.
      const isForced = force && caller.isAdmin;
      await cancelRun(noted, { stack, run: id }, { actor: caller.actor, force: isForced });
    },
    log: async (caller, { workspace, run, name, structured, offset }) => {
      const stack = await stackOf(caller, workspace);
      const reference = { stack: stack.reference, run };
      const wanted = { name, structured, offset };
      return runLogText({ ...parts, renderer, marks, awaited, open }, stack, reference, wanted);
    },
    planJson: async (caller, { workspace, id, phase }, form) => {
      const { reference } = await stackOf(caller, workspace);
      const until = AbortSignal.timeout(PLAN_READ_MS);
      const rendered = form === "rendered" ? await renderedPlan(reference, id, until) : undefined;
      if (rendered !== undefined) return rendered;
      const text = phase === "no_changes" ? NO_CHANGES : await storedPlan(reference, id, until);
      if (text === undefined || form === "document") return text;
      return renderer.render(text, { form: "terraform" }, until);
    },
  };
}

function countsOf(summary: PlanSummary): TfePlanCounts {
  return {
    additions: summary.create + summary.replace,
    changes: summary.update,
    destructions: summary.delete + summary.replace,
    imports: summary.import,
  };
}

function viewOf(run: Run, workspace: string, { counts, hasDocument: has }: PlanFacts): TfeRun {
  const { mode } = run;
  return {
    id: run.id,
    workspace,
    phase: phaseOf(run),
    mode:
      mode === Run_Mode.MODE_DESTROY
        ? "destroy"
        : mode === Run_Mode.MODE_REFRESH_ONLY
          ? "refresh-only"
          : "normal",
    planOnly: isSpeculative(run),
    savedPlan: run.savedPlan,
    autoApply: run.autoApply,
    message: run.message,
    createdAtMs: Number(run.createdAtMs),
    hasPlan: run.planDigest !== "",
    wasApproved: run.history.some(({ to }) => to === Run_Phase.PHASE_APPROVED),
    isCanceling: run.cancel !== undefined,
    upload: run.configuration === "" ? undefined : run.id,
    counts,
    // The log of a tool has what the tool wrote, with its text of the plan.
    structuredOutput: run.tool === "" && has,
  };
}

/** The id of an upload is a ULID, whose first ten characters are its time. */
function isOld(name: string, nowMs: number, prefix: string): boolean {
  return ulidTime(name.slice(prefix.length)) < nowMs - UPLOAD_KEPT_MS;
}

function uploadPlace(stack: StackReference, id: string): Place {
  return memberPlace(stack, id);
}
