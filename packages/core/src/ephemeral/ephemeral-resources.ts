import type { Clock } from "@stackwright/base/clock";
import { getAttribute, Mark, Value } from "@stackwright/cty";
import {
  type Diagnostic,
  evaluateBody,
  expandRepetition,
  hasErrors,
  providerDiagnostic,
  type ResourceConfig,
} from "@stackwright/lang";
import type { LifecycleContext, ProviderDiagnostic } from "@stackwright/mux/router";
import { assertObject, violationsToDiagnostics } from "@stackwright/tfplugin/checks";
import type { RunEventHandler } from "../events.ts";
import type { ReadyProvider } from "../providers/ready-provider.ts";
import type { CheckResult } from "../state/check-result.ts";
import { evaluateConditions, validateConditions } from "../walk/conditions.ts";
import type { EvaluationState } from "../walk/evaluation-state.ts";
import { keysOf } from "../walk/keys.ts";
import { extractMarks, markObject } from "../walk/object-marks.ts";
import type { Target } from "../walk/recorder.ts";
import { type InstanceSlot, NOT_OPEN, type ResourceValues } from "../walk/resource-values.ts";
import { unknownComputed } from "../walk/unknown-computed.ts";
import { type BoundEphemeral, bindEphemeral } from "./bind-ephemeral.ts";
import { EphemeralSession } from "./ephemeral-session.ts";

/** What a walk has for its ephemeral resources. */
interface EphemeralHost {
  readonly world: EvaluationState;
  readonly clock: Clock;
  readonly onEvent: RunEventHandler;
  readonly context: LifecycleContext;
  /** Makes a call to a provider, under the limits of the walk. */
  call<T>(work: () => Promise<T>): Promise<T>;
  /** The provider of an instance, configured; undefined where there is none, which is reported. */
  providerOf(slot: InstanceSlot): Promise<ReadyProvider | undefined>;
  report(diagnostics: readonly Diagnostic[]): void;
  keep(result: CheckResult): void;
  /**
   * Whether something that a resource depends on explicitly is still to be changed. Absent where everything is to be
   * known by now: then what cannot be opened is an error, elsewhere it stays unknown.
   */
  readonly isPending?: (targets: ReadonlySet<Target>) => boolean;
}

/** An open one, with what has to stay open as long as it is. */
interface Held {
  readonly slot: InstanceSlot;
  readonly lease: EphemeralSession;
}

/**
 * The ephemeral resources of one walk: opened once each, when the walk comes to them or an evaluation asks for one;
 * renewed as long as they are open; closed after what was opened with their help.
 *
 * Their values are on slots of the world, marked as ephemeral, and nowhere else. What could not be opened is unknown there.
 */
export class EphemeralResources implements AsyncDisposable {
  readonly #host: EphemeralHost;
  readonly #opened = new Map<InstanceSlot, Promise<boolean>>();
  readonly #expanded = new Map<ResourceValues, Promise<void>>();
  readonly #held = new Set<Held>();
  readonly #bound = new Map<ResourceConfig, BoundEphemeral | undefined>();

  constructor(host: EphemeralHost) {
    this.#host = host;
  }

  /** Opens instances, or all instances of resources, and works out first which there are. */
  async open(targets: Iterable<Target>): Promise<void> {
    const slots: InstanceSlot[] = [];
    for (const target of targets) {
      if (target.kind === "instance") slots.push(target);
      else {
        if (target.keys === undefined) await this.#expandOnce(target);
        slots.push(...target.slots.values());
      }
    }
    await Promise.all(slots.map(async (slot) => this.openInstance(slot)));
  }

  /** False, reported, where an instance could not be opened. One that is only not known yet counts as open. */
  async openInstance(slot: InstanceSlot): Promise<boolean> {
    let opened = this.#opened.get(slot);
    if (opened === undefined) {
      opened = this.#open(slot);
      this.#opened.set(slot, opened);
      // A value that was not available yet, because of an error in the order, is not an answer.
      opened.catch(() => this.#opened.delete(slot));
    }
    return opened;
  }

  /** Closes an instance, or all instances of a resource, if they are open. */
  async close(address: string): Promise<void> {
    const held = [...this.#held].filter(
      ({ slot }) => slot.address === address || slot.resource.address === address,
    );
    await Promise.all(held.map(async (one) => this.#close(one)));
  }

  async closeAll(): Promise<void> {
    await Promise.allSettled(this.#opened.values());
    await Promise.all([...this.#held].map(async (one) => this.#close(one)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.closeAll();
  }

  /** First those that were opened with its help. */
  async #close(held: Held): Promise<void> {
    const above = [...this.#held].filter(
      ({ slot }) => slot !== held.slot && needs(slot, held.slot),
    );
    await Promise.all(above.map(async (one) => this.#close(one)));
    await held.lease.close();
    this.#held.delete(held);
  }

  async #expandOnce(resource: ResourceValues): Promise<void> {
    let expanded = this.#expanded.get(resource);
    if (expanded === undefined) {
      expanded = this.#expand(resource);
      this.#expanded.set(resource, expanded);
    }
    return expanded;
  }

  /** Of a walk that is not led by the configuration. */
  async #expand(resource: ResourceValues): Promise<void> {
    const { config, module } = resource;
    if (config === undefined) return;
    const { world } = this.#host;
    const diagnostics: Diagnostic[] = [];
    const scope = module.scope.forInstance({});
    const expansion = await world.settled(() => {
      diagnostics.length = 0;
      return expandRepetition(config, scope, diagnostics);
    });
    this.#host.report(diagnostics);
    if (expansion.kind === "invalid" || expansion.kind === "unknown") {
      resource.placeholder = NOT_OPEN;
      return;
    }
    resource.expand(keysOf(expansion));
  }

  async #open(slot: InstanceSlot): Promise<boolean> {
    const value = await this.#valueOf(slot);
    slot.value = value ?? NOT_OPEN;
    return value !== undefined;
  }

  /** Undefined after an error, which is reported. */
  async #valueOf(slot: InstanceSlot): Promise<Value | undefined> {
    const { resource } = slot;
    const { config, module } = resource;
    if (config === undefined) return undefined;
    const host = this.#host;
    const { world } = host;
    const ready = await host.providerOf(slot);
    const bound = ready && this.#bind(config, ready);
    if (ready === undefined || bound === undefined) return undefined;
    const scope = module.scope.forInstance(slot.context);
    const { preconditions, postconditions } = config.lifecycle;
    const evaluate = () => evaluateBody(bound.body, scope, { ephemeral: "everywhere" });
    await world.settled(() => {
      validateConditions(preconditions, scope);
      return evaluate();
    });
    const conditionsOf = { address: slot.address, ...this.#sinks };
    const { result, targets, blocked } = world.recorder.record(() => {
      const kind = "precondition" as const;
      const good = evaluateConditions({ ...conditionsOf, kind, conditions: preconditions, scope });
      return good ? evaluate() : undefined;
    });
    const explicit = new Set<Target>(module.explicit);
    for (const traversal of config.dependsOn) {
      for (const target of module.named(traversal)) explicit.add(target);
    }
    slot.through = new Set([
      ...module.around,
      ...resource.targets,
      ...explicit,
      ...targets,
      ...ready.targets,
    ]);
    if (result === undefined || blocked.size > 0) return undefined;
    if (!this.#report(slot, result.diagnostics)) return undefined;

    const { plain, sensitive } = extractMarks(result.value);
    const place = (problems: readonly ProviderDiagnostic[]): boolean =>
      this.#report(
        slot,
        problems.map((one) => providerDiagnostic(result, one, slot.address)),
      );
    const { use } = ready;
    const request = { type: config.type, config: plain };
    const valid = await host.call(async () =>
      use.provider.validateEphemeral({ ...request, writeOnlyAllowed: false }, host.context),
    );
    if (!place(valid.diagnostics)) return undefined;
    const asSeen = (object: Value): Value =>
      markObject(object, bound.schema.block, sensitive).mark(Mark.ephemeral);
    const known = plain.isWhollyKnown && ready.reachable;
    if (!known || host.isPending?.(explicit) === true) {
      if (host.isPending !== undefined) return asSeen(unknownComputed(bound.schema.block, plain));
      this.#fail(
        slot,
        "Ephemeral resource not known",
        "Something that it is made from is unknown.",
      );
      return undefined;
    }
    const opened = await this.#call(slot, ready, plain, place);
    if (opened === undefined) return undefined;
    const { violations, object } = assertObject({ block: bound.schema.block, object: opened });
    if (violations.length > 0) {
      const subject = `${slot.address} (${use.reference.source})`;
      place(violationsToDiagnostics(violations, "result", subject));
      return undefined;
    }
    const seen = asSeen(object);
    use.secrets.addValue(asSecret(object, plain));
    const self = module.scope.forInstance({ ...slot.context, self: seen });
    const conditions = { ...conditionsOf, conditions: postconditions, scope: self };
    return evaluateConditions({ ...conditions, kind: "postcondition" }) ? seen : undefined;
  }

  #bind(config: ResourceConfig, { use }: ReadyProvider): BoundEphemeral | undefined {
    if (this.#bound.has(config)) return this.#bound.get(config);
    const bound = bindEphemeral(config, use, (found) => this.#host.report(found));
    this.#bound.set(config, bound);
    return bound;
  }

  /** Opens a resource and holds it. Undefined after an error, which is reported; what is open then is held as well. */
  async #call(
    slot: InstanceSlot,
    { use }: ReadyProvider,
    config: Value,
    place: (problems: readonly ProviderDiagnostic[]) => boolean,
  ): Promise<Value | undefined> {
    const { clock, onEvent, context } = this.#host;
    const { address } = slot;
    const type = slot.resource.config?.type ?? "";
    const begun = clock.monotonicMs();
    const notify = (status: "start" | "done" | "failed"): void =>
      onEvent({
        type: "ephemeral",
        address,
        step: "open",
        status,
        elapsedMs: clock.monotonicMs() - begun,
      });
    notify("start");
    try {
      const reply = await this.#host.call(async () =>
        use.provider.openEphemeral({ type, config, deferralAllowed: false }, context),
      );
      const good = place(reply.diagnostics) && reply.result !== undefined;
      // With an error and without a result nothing was opened.
      if (reply.result !== undefined) {
        const report = (found: readonly Diagnostic[]): void => this.#host.report(found);
        const lease = { address, type, use, reply, clock, onEvent, report, context };
        this.#held.add({ slot, lease: new EphemeralSession(lease) });
      }
      notify(good ? "done" : "failed");
      return good ? reply.result : undefined;
    } catch (error) {
      notify("failed");
      if (context.signal?.aborted === true) return undefined;
      const message = error instanceof Error ? error.message : String(error);
      this.#fail(slot, "Ephemeral resource could not be opened", message);
      return undefined;
    }
  }

  get #sinks() {
    return {
      report: (found: readonly Diagnostic[]) => this.#host.report(found),
      keep: (result: CheckResult) => this.#host.keep(result),
    };
  }

  #report(slot: InstanceSlot, found: readonly Diagnostic[]): boolean {
    if (found.length > 0) {
      this.#host.report(found.map((one) => ({ ...one, address: one.address ?? slot.address })));
    }
    return !hasErrors(found);
  }

  #fail({ address }: InstanceSlot, summary: string, text: string): void {
    const detail = `${address}: ${text}`;
    this.#host.report([{ severity: "error", code: "ENGINE_EPHEMERAL", summary, detail, address }]);
  }
}

/** An opened object with everything in it secret that its configuration does not say. */
function asSecret(object: Value, config: Value): Value {
  return Value.object(
    [...object.entries()].map(([name, value]) => [
      name,
      getAttribute(config, name).isNull ? value.mark(Mark.sensitive) : value,
    ]),
  );
}

/** Whether one instance was opened with the help of another. */
function needs(slot: InstanceSlot, other: InstanceSlot): boolean {
  return slot.through.has(other) || slot.through.has(other.resource);
}
