import type { Value } from "@stackwright/cty";
import type { ApplyReply } from "@stackwright/mux/router";
import { assertApplied, isRefused, violationsToDiagnostics } from "@stackwright/tfplugin/checks";
import type { StepStatus } from "../events.ts";
import type { ResourceChange } from "../plan/change.ts";
import type { ReadyProvider } from "../providers/ready-provider.ts";
import type { Redactor } from "../secrets/redactor.ts";
import { storablePaths } from "../state/record-value.ts";
import type { OperationPlan, OperationResult, StateChange } from "../state/state-change.ts";
import type { ObjectKey } from "../state/state-object.ts";
import { recordIdentity } from "../walk/identity.ts";
import { markObject, withoutMarks } from "../walk/object-marks.ts";
import type { InstanceSlot } from "../walk/resource-values.ts";
import type { ApplyRun } from "./apply-run.ts";
import { decideConditions } from "./deferred-checks.ts";
import { computeFinalPlan, type FinalPlan } from "./final-plan.ts";
import { resolveOperation } from "./resolve-operation.ts";
import { runProvisioners } from "./run-provisioners.ts";

/** Creates or updates one object: final plan, intent, call, outcome. */
export async function applyManagedObject(
  run: ApplyRun,
  change: ResourceChange,
  ready: ReadyProvider,
  slot: InstanceSlot,
): Promise<StepStatus> {
  return new Maker(run, change, ready, slot).make();
}

class Maker {
  readonly #run: ApplyRun;
  readonly #change: ResourceChange;
  readonly #ready: ReadyProvider;
  readonly #slot: InstanceSlot;
  readonly #operation: string;

  constructor(run: ApplyRun, change: ResourceChange, ready: ReadyProvider, slot: InstanceSlot) {
    this.#run = run;
    this.#change = change;
    this.#ready = ready;
    this.#slot = slot;
    this.#operation = run.given.ulid();
  }

  get #creates(): boolean {
    return this.#change.action !== "update";
  }

  /** Whether provisioners run once the object exists. Until they are done it is recorded as tainted. */
  get #isProvisioned(): boolean {
    return (
      this.#creates && this.#change.provisioners?.some(({ when }) => when === "create") === true
    );
  }

  get #key(): ObjectKey {
    return { address: this.#change.address, deposed: "" };
  }

  async make(): Promise<StepStatus> {
    const plan = await computeFinalPlan(
      this.#run,
      this.#change,
      this.#ready,
      this.#slot,
      this.#operation,
    );
    if (plan === undefined) return "failed";
    if (plan.nothingToDo) return this.#keep(plan);
    // Providers were asked to stop; a call that has not begun must no longer be sent to them.
    if (this.#run.given.stop.aborted) return "not-started";
    const deposed = await this.#announce(plan);
    let reply: ApplyReply;
    try {
      reply = await this.#call(plan);
    } catch (error) {
      return this.#lost(error, deposed);
    }
    if (reply.isOpen === true) {
      plan.report(reply.diagnostics);
      // The next run recovers it, as its provider is not asked any more in this one.
      return this.#run.given.force.aborted ? "unresolved" : this.#resolve(deposed);
    }
    return this.#settle(plan, reply, deposed);
  }

  /** Writes the intent. For a replacement that creates first: the old object is deposed in the same step. */
  async #announce(plan: FinalPlan): Promise<string | undefined> {
    const { writer } = this.#run.given;
    const { action, order, address } = this.#change;
    const object = this.#run.objectPlan(this.#change);
    const operation = this.#operationPlan(plan);
    let step: StateChange;
    let deposed: string | undefined;
    if (!this.#creates) {
      const { dependencies } = object;
      step = { kind: "update", key: this.#key, operation, dependencies };
    } else if (action === "replace" && order === "create-first") {
      deposed = writer.unusedDeposedKey(address);
      step = { kind: "depose", address, deposed, create: { object, operation } };
    } else step = { kind: "create", key: this.#key, object, operation };
    await writer.write(step);
    return deposed;
  }

  #operationPlan(plan: FinalPlan): OperationPlan {
    const id = this.#operation;
    const replace = this.#change.action === "replace";
    const sensitive = storablePaths(plan.sensitive);
    if (!this.#creates) return { id, replace, sensitive };
    const { secrets } = this.#ready.use;
    const hint = searchHint(this.#change, plan, secrets);
    const probe = { hint, ...findable(this.#change, plan, secrets) };
    return { id, replace, probe, sensitive, tainted: this.#isProvisioned };
  }

  async #call(plan: FinalPlan): Promise<ApplyReply> {
    const { type } = this.#change;
    const { prior, config, planned, reply } = plan;
    const { provider } = this.#ready.use;
    const { writer } = this.#run.given;
    const record = async (note: Uint8Array): Promise<void> => {
      await writer.write({ kind: "note", key: this.#key, operation: this.#operation, note });
    };
    return this.#run.timed(this.#change, this.#creates ? "create" : "update", async (context) =>
      provider.apply(
        {
          type,
          prior,
          config,
          planned,
          plannedPrivate: reply.plannedPrivate,
          ...(reply.plannedIdentity !== undefined && { plannedIdentity: reply.plannedIdentity }),
          operation: { operationId: this.#operation, epoch: this.#run.given.writer.epoch },
        },
        plan.schema.hasNotes === true ? { ...context, note: record } : context,
      ),
    );
  }

  async #write(outcome: OperationResult): Promise<void> {
    const { writer } = this.#run.given;
    await writer.write({ kind: "settle", key: this.#key, operation: this.#operation, outcome });
  }

  async #settle(
    plan: FinalPlan,
    reply: ApplyReply,
    deposed: string | undefined,
  ): Promise<StepStatus> {
    const failed = !plan.report(reply.diagnostics);
    const { block } = plan.schema;
    const nothing = reply.state.isNull;
    const { violations, object } = assertApplied({
      block,
      planned: plan.planned,
      state: reply.state,
      failed,
      legacyTypeSystem: reply.legacyTypeSystem,
    });
    const refused = isRefused(violations);
    if (refused) {
      const subject = `${this.#change.address} (${this.#change.provider.source})`;
      plan.report(
        violationsToDiagnostics(
          violations.filter(({ tolerated }) => !tolerated),
          "result",
          subject,
        ),
      );
    }
    if (nothing) return this.#nothingThere(failed, deposed);
    const value = markObject(object, block, [...plan.sensitive, ...(reply.sensitive ?? [])]);
    this.#ready.use.secrets.addValue(value);
    const tainted = (failed || refused) && this.#creates;
    await this.#write({
      kind: "exists",
      tainted: tainted || this.#isProvisioned,
      content: this.#run.content(this.#change, this.#ready, {
        value,
        privateBytes: reply.privateBytes,
        identity: reply.identity ?? plannedIdentityOf(plan),
      }),
      // After a failure its dependencies are unknown; the intent named the old and the new ones.
      ...(!this.#creates && !failed && !refused && { patch: this.#patch() }),
    });
    this.#slot.value = value;
    if (failed || refused) return tainted ? "tainted" : "failed";
    if (this.#isProvisioned && !(await this.#provision(value))) return "tainted";
    return (await this.#postconditions(value)) ? "done" : "failed";
  }

  /** Runs the provisioners of the new object, which is tainted until all of them are done. */
  async #provision(self: Value): Promise<boolean> {
    const { config, module } = this.#slot.resource;
    if (config === undefined) return false;
    const scope = module.scope.forInstance({ ...this.#slot.context, self });
    const { secrets } = this.#ready.use;
    const object = { run: this.#run, change: this.#change, provisioning: config, scope, secrets };
    if (!(await runProvisioners(object, "create"))) return false;
    const patch = { phase: "ready" } as const;
    await this.#run.given.writer.write({ kind: "record", key: this.#key, patch });
    return true;
  }

  #patch() {
    const { provider, createBeforeDestroy } = this.#change;
    return { provider, createBeforeDestroy, dependencies: this.#run.dependencies(this.#change) };
  }

  /** The provider says that there is nothing after a create or update. */
  async #nothingThere(failed: boolean, deposed: string | undefined): Promise<StepStatus> {
    if (!this.#creates) {
      // A failed update that lost its object in the answer: the previous object is kept until the next read.
      await this.#write(failed ? { kind: "untouched" } : { kind: "absent" });
      return "failed";
    }
    if (failed && !this.#ready.use.capabilities.failedCreateIsClean) {
      return this.#resolve(deposed);
    }
    await this.#write({ kind: "absent" });
    await this.#restore(deposed);
    return "failed";
  }

  /** The old object comes back when its replacement could not be made. */
  async #restore(deposed: string | undefined): Promise<void> {
    if (deposed === undefined) return;
    const { address } = this.#change;
    await this.#run.given.writer.write({ kind: "restore", address, deposed });
  }

  /** No answer: the call may have happened, unless the error says that it has not. */
  async #lost(error: unknown, deposed: string | undefined): Promise<StepStatus> {
    const { force } = this.#run.given;
    const { address } = this.#change;
    if (force.aborted) return "unresolved";
    const message = error instanceof Error ? error.message : String(error);
    this.#run.fail("Provider call failed", `${address}: ${message}`, address);
    if (isNotApplied(error)) {
      await this.#write(this.#creates ? { kind: "absent" } : { kind: "untouched" });
      await this.#restore(deposed);
      return "failed";
    }
    return this.#resolve(deposed);
  }

  async #resolve(deposed: string | undefined): Promise<StepStatus> {
    const { writer } = this.#run.given;
    const object = writer.object(this.#change.address);
    if (object?.operation === undefined) return "unresolved";
    const outcome = await resolveOperation(
      object,
      object.operation,
      this.#ready.use,
      this.#run.context,
    );
    await this.#write(outcome);
    if (outcome.kind === "absent" && this.#creates) await this.#restore(deposed);
    if (outcome.kind !== "unresolved") return "failed";
    this.#run.fail("Outcome not known", outcome.problem, this.#change.address);
    return "unresolved";
  }

  /** Nothing is left to do for the object; what is recorded about it may change. */
  async #keep(plan: FinalPlan): Promise<StepStatus> {
    const { before } = this.#change;
    const value = markObject(plan.planned, plan.schema.block, plan.sensitive);
    this.#slot.value = value;
    if (before !== undefined) {
      const { priorPrivate, priorIdentity } = this.#change.words;
      const content = this.#run.content(this.#change, this.#ready, {
        value,
        privateBytes: priorPrivate,
        identity: priorIdentity,
      });
      const patch = { ...this.#patch(), content };
      await this.#run.given.writer.write({ kind: "record", key: this.#key, patch });
    }
    return (await this.#postconditions(value)) ? "done" : "failed";
  }

  async #postconditions(self: Value): Promise<boolean> {
    return decideConditions(this.#run, this.#slot, "postcondition", self);
  }
}

/**
 * What a created object can be probed by if its answer is lost: the identity or the `id` that the provider plans for
 * it, as far as these are known before the call. Neither where the deposed object has the same. No id that repeats a secret.
 */
function findable(
  { action, order, before, words }: ResourceChange,
  { reply, planned, schema }: FinalPlan,
  secrets: Redactor,
): Omit<NonNullable<OperationPlan["probe"]>, "hint"> {
  const old = action === "replace" && order === "create-first" ? before : undefined;
  const { plannedIdentity } = reply;
  const identity = recordIdentity(plannedIdentity, schema);
  if (identity !== undefined && plannedIdentity !== undefined) {
    const taken = old !== undefined && words.priorIdentity?.rawEquals(plannedIdentity) === true;
    return taken ? {} : { identity };
  }
  const importId = plannedId(planned, schema.block);
  // It is stored as it is.
  if (importId === undefined || secrets.redact(importId) !== importId) return {};
  return old !== undefined && plannedId(withoutMarks(old), schema.block) === importId
    ? {}
    : { importId };
}

/** The `id` of a planned object where it is known, and no secret: it is stored. */
function plannedId(
  planned: Value,
  { attributes }: FinalPlan["schema"]["block"],
): string | undefined {
  const attribute = attributes.get("id");
  if (attribute?.type.kind !== "string" || attribute.sensitive) return undefined;
  const id = new Map(planned.entries()).get("id");
  if (id === undefined || !id.isKnown || id.isNull || id.asString() === "") return undefined;
  return id.asString();
}

function plannedIdentityOf({ reply }: FinalPlan): Value | undefined {
  const { plannedIdentity } = reply;
  return plannedIdentity?.isWhollyKnown === true ? plannedIdentity : undefined;
}

/** Whether an error says that the call did not happen. */
export function isNotApplied(error: unknown): boolean {
  return (
    typeof error === "object" &&
    error !== null &&
    "outcome" in error &&
    error.outcome === "not-applied"
  );
}

/** What an operator looks for when it is not known whether an object was made: its plain, known, configured texts. */
function searchHint(
  { type, provider, after }: ResourceChange,
  { planned, schema: { block } }: FinalPlan,
  secrets: Redactor,
): string {
  const marked =
    after?.type.kind === "object" ? new Map(after.unmark()[0].entries()) : new Map<string, Value>();
  const traits = [...withoutMarks(planned).entries()].flatMap(([name, value]) => {
    if (value.type.kind !== "string" || !value.isKnown || value.isNull) return [];
    if (block.attributes.get(name)?.sensitive === true || marked.get(name)?.containsMarks === true)
      return [];
    // Others may repeat a secret that is marked elsewhere.
    return [`${name} = ${JSON.stringify(secrets.redact(value.asString()).slice(0, 80))}`];
  });
  const how = traits.length === 0 ? "" : ` with ${traits.slice(0, 6).join(", ")}`;
  return `Look for an object of type ${type}${how} (${provider.source}).`;
}
