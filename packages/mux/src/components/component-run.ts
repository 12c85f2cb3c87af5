import { RpcError } from "@stackwright/proto/grpc";
import { decodeStruct, encodeStruct, type PropertyMap } from "@stackwright/proto/property";
import {
  type RegisterResourceRequest,
  RegisterResourceResponse,
} from "@stackwright/proto/pulumirpc";
import { isStateUnknown } from "../is-state-unknown.ts";
import { ChildJournal, type NoteChildren } from "./child-journal.ts";
import {
  type ChildAction,
  createChild,
  decideChild,
  deleteChild,
  openChild,
  updateChild,
  type WantedChild,
} from "./child-steps.ts";
import type { ComponentChild } from "./component-child.ts";
import type { ComponentCall } from "./component-peer.ts";
import { childUrn } from "./component-urn.ts";

const EMPTY = encodeStruct(new Map());
/** Most resources of one component: they are kept in one object. */
const MAX_RESOURCES = 10_000;

/** A child that could not be made or changed. */
export interface ChildFailure {
  readonly urn: string;
  readonly error: RpcError;
}

/**
 * One construction of a component: what its program registers is compared with what an earlier construction made, and made,
 * changed, replaced or left alone. What it does not register any more goes at the end.
 *
 * `children` is at every moment what is there, also when the construction fails halfway.
 */
export class ComponentRun {
  readonly #call: ComponentCall;
  /** What is there, by URN; what was replaced has its id beside the URN. In the order in which it was made. */
  readonly #there: Map<string, ComponentChild>;
  readonly #actions = new Map<string, ChildAction | "delete">();
  readonly #registered = new Set<string>();
  /** URNs whose objects others have taken by an alias, with these. */
  readonly #taken = new Map<string, string>();
  readonly #outputs = new Map<string, PropertyMap>();
  readonly #failures: ChildFailure[] = [];
  readonly #pending = new Set<Promise<unknown>>();
  readonly #open = new Map<string, ComponentChild>();
  readonly #journal: ChildJournal;
  #refusal: string | undefined;

  constructor(call: ComponentCall, before: readonly ComponentChild[], note?: NoteChildren) {
    this.#call = call;
    this.#journal = new ChildJournal(note);
    this.#there = new Map(before.map((child) => [keyOf(child), child]));
    for (const [key, child] of this.#there) this.#journal.set(key, child);
  }

  get children(): readonly ComponentChild[] {
    return [...this.#there.values()];
  }

  /** What was done, or in a preview would be, by URN. */
  get actions(): ReadonlyMap<string, ChildAction | "delete"> {
    return this.#actions;
  }

  /** What children failed with: a program may go on without one. */
  get failures(): readonly ChildFailure[] {
    return this.#failures;
  }

  /** Whether creates were called of which it is not known what came of them. */
  get isOpen(): boolean {
    return this.#open.size > 0;
  }

  /** Resolves when all that is there, and all that is open, is recorded; rejects where it is not. */
  async recorded(): Promise<void> {
    await this.#journal.save();
  }

  /** What is known of a resource of the component, for programs that look it up. */
  outputsOf(urn: string): PropertyMap | undefined {
    return this.#outputs.get(urn) ?? this.#there.get(urn)?.outputs;
  }

  /** Remembers what a resource that is no child is known to be. */
  setOutputs(urn: string, outputs: PropertyMap): void {
    this.#outputs.set(urn, outputs);
  }

  /** Nothing is registered from now on: it is refused with this text. */
  refuse(text: string): void {
    this.#refusal = text;
  }

  /** Waits for what has begun; nothing else begins. */
  async settled(): Promise<void> {
    this.#refusal ??= "the component has ended";
    while (this.#pending.size > 0) await Promise.allSettled(this.#pending);
    await this.#journal.settled();
  }

  async register(request: RegisterResourceRequest): Promise<RegisterResourceResponse> {
    const { type, name, parent } = request;
    const urn = childUrn(parent, type, name);
    return this.attempt(urn, async () => this.#register(urn, request));
  }

  /**
   * Does a part of the construction, which waits for it. What it fails with is a failure of the construction even where the program
   * ignores it: a resource that could not be registered is not one that the component does not have any more.
   */
  async attempt<T>(urn: string, work: () => Promise<T>): Promise<T> {
    const part = this.#unlessRefused(work);
    this.#pending.add(part);
    try {
      return await part;
    } catch (error) {
      const failure = RpcError.from(error);
      this.#failures.push({ urn, error: failure });
      throw failure;
    } finally {
      this.#pending.delete(part);
    }
  }

  async #unlessRefused<T>(work: () => Promise<T>): Promise<T> {
    if (this.#refusal !== undefined) throw new RpcError("FAILED_PRECONDITION", this.#refusal);
    return work();
  }

  async #register(
    urn: string,
    request: RegisterResourceRequest,
  ): Promise<RegisterResourceResponse> {
    if (this.#registered.size >= MAX_RESOURCES) {
      const text = `the component registers more than ${MAX_RESOURCES} resources`;
      throw new RpcError("RESOURCE_EXHAUSTED", text);
    }
    if (this.#registered.has(urn)) {
      throw new RpcError("ALREADY_EXISTS", `the component registers ${urn} twice`);
    }
    this.#registered.add(urn);
    if (!request.custom) {
      this.#outputs.set(urn, decodeStruct(request.object ?? EMPTY));
      return reply(urn, "", new Map());
    }
    const child = await this.#change(urn, request);
    return reply(urn, child.id, child.outputs);
  }

  /** Deletes what was replaced, and what the component does not have any more; the last that was made first. */
  async removeRest(): Promise<void> {
    for (const child of this.children.toReversed()) {
      if (this.#registered.has(child.urn) && !child.isReplaced) continue;
      // Also what an earlier construction could not delete: a plan without a change would leave it there.
      this.#actions.set(child.urn, child.isReplaced ? "replace" : "delete");
      if (this.#call.dryRun) this.#there.delete(keyOf(child));
      else await this.#remove(child);
    }
  }

  async #change(urn: string, request: RegisterResourceRequest): Promise<ComponentChild> {
    requireSupported(urn, request);
    const old = this.#claim(urn, request);
    const wanted: WantedChild = {
      urn,
      type: request.type,
      inputs: decodeStruct(request.object ?? EMPTY),
      ignoreChanges: request.ignoreChanges,
      secretOutputs: request.additionalSecretOutputs,
      retained: request.retainOnDelete ?? false,
      isProtected: request.protect ?? false,
    };
    const deletesFirst = request.deleteBeforeReplaceDefined
      ? request.deleteBeforeReplace
      : undefined;
    const { inputs, action } = await decideChild(this.#call, wanted, old, deletesFirst);
    this.#actions.set(urn, action);
    const { retained, isProtected } = wanted;
    if (action === "same" && old !== undefined) {
      // A plan without a change would not record whether it may be deleted.
      if (old.retained !== retained || old.isProtected !== isProtected) {
        this.#actions.set(urn, "update");
      }
      return this.#keep({ ...old, urn, inputs, retained, isProtected });
    }
    const { child, failure } = await this.#carryOut(action, wanted, inputs, old);
    // Both in one step: no record has the one without the other. The old one goes when all that uses it uses the other one.
    if (action === "replace" && old !== undefined && !this.#call.dryRun) {
      this.#keep({ ...old, isReplaced: true });
    }
    this.#keep(child);
    if (failure !== undefined) throw failure;
    return child;
  }

  async #carryOut(
    action: ChildAction,
    wanted: WantedChild,
    inputs: PropertyMap,
    old: ComponentChild | undefined,
  ) {
    if (old === undefined) return this.#create(wanted, inputs);
    if (action === "update") return updateChild(this.#call, wanted, inputs, old);
    if (this.#call.dryRun) return createChild(this.#call, wanted, inputs);
    if (action === "delete-then-create") await this.#remove(old);
    return this.#create(wanted, inputs);
  }

  /**
   * Its create is recorded before it is called, so that it can be looked for where this process ends meanwhile. It stays open until
   * it is among what is there, or is known not to be.
   */
  async #create(wanted: WantedChild, inputs: PropertyMap) {
    const { urn } = wanted;
    const child = openChild(wanted, inputs);
    this.#open.set(urn, child);
    this.#journal.set(keyOf(child), child);
    try {
      await this.#journal.save();
    } catch (error) {
      this.#close(urn);
      const reason = RpcError.from(error).rawMessage;
      throw new RpcError(
        "ABORTED",
        `${urn} was not made, as that could not be recorded: ${reason}`,
      );
    }
    try {
      return await createChild(this.#call, wanted, inputs);
    } catch (error) {
      if (!isStateUnknown(RpcError.from(error), true)) this.#close(urn);
      throw error;
    }
  }

  /**
   * What was made under this URN, or under one that the component says it had. A URN under which something else is registered, before
   * or after, has its own object.
   */
  #claim(urn: string, { aliasURNs }: RegisterResourceRequest): ComponentChild | undefined {
    const taker = this.#taken.get(urn);
    if (taker !== undefined) {
      const text = `${urn} is registered, and is an alias of ${taker}, which has taken its object`;
      throw new RpcError("FAILED_PRECONDITION", text);
    }
    for (const candidate of [urn, ...aliasURNs]) {
      const old = this.#there.get(candidate);
      if (old === undefined || (candidate !== urn && this.#registered.has(candidate))) continue;
      if (candidate !== urn) {
        this.#taken.set(candidate, urn);
        this.#there.delete(candidate);
        this.#journal.delete(candidate);
        this.#there.set(urn, { ...old, urn });
        this.#journal.set(urn, { ...old, urn });
      }
      return { ...old, urn };
    }
    return undefined;
  }

  #keep(child: ComponentChild): ComponentChild {
    // Last in the order: it was registered after all that it uses.
    this.#there.delete(keyOf(child));
    this.#there.set(keyOf(child), child);
    this.#journal.set(keyOf(child), child);
    if (!child.isReplaced) this.#close(child.urn);
    this.#journal.saveLater();
    return child;
  }

  #close(urn: string): void {
    const child = this.#open.get(urn);
    if (child === undefined) return;
    this.#open.delete(urn);
    this.#journal.delete(keyOf(child));
  }

  async #remove(child: ComponentChild): Promise<void> {
    if (!child.retained) await deleteChild(this.#call, child);
    this.#there.delete(keyOf(child));
    this.#journal.delete(keyOf(child));
  }
}

function keyOf({ urn, id, isReplaced, isOpen }: ComponentChild): string {
  if (isOpen) return `${urn} ?`;
  return isReplaced ? `${urn} ${id}` : urn;
}

function reply(urn: string, id: string, outputs: PropertyMap): RegisterResourceResponse {
  return RegisterResourceResponse.create({ urn, id, object: encodeStruct(outputs) });
}

/** Throws for what a child may ask of an engine and has no place here: doing without it would be another resource. */
function requireSupported(urn: string, request: RegisterResourceRequest): void {
  const refused = (what: string): RpcError =>
    new RpcError("UNIMPLEMENTED", `${urn}: ${what} in components are not supported`);
  if (request.type.startsWith("pulumi:providers:")) throw refused("providers of their own");
  if (request.importId !== "") throw refused("imports");
  if (request.transforms.length > 0) throw refused("transforms");
  if (request.hooks !== undefined) throw refused("hooks");
}
