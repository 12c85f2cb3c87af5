import * as t6 from "@stackwright/proto/tfplugin6";
import { TfpluginError } from "../errors.ts";
import type { PluginTransport, TransportCall } from "../transport/plugin-transport.ts";
import { NAMES_IN_5, PLUGIN_METHODS } from "../wire/methods.ts";
import { Broadcasts } from "./broadcasts.ts";
import { askInventory, assignOwners, errorDiagnostic, type Ownership } from "./discovery.ts";
import { textField } from "./message-name.ts";
import type { MuxMember } from "./mux-member.ts";
import { KIND_NAMES, ROUTES, type Route } from "./routes.ts";

/**
 * Several providers of one protocol as one: every resource type, data source, function and so on has exactly one owner,
 * to which its calls go as the bytes that they are.
 *
 * - What the servers have is asked for with the first call that needs it, one after the other, once. A failure leaves
 *   nothing behind and is asked again with the next call.
 * - Names that several servers have are reported all at once, as diagnostics of the schema; calls for them are refused,
 *   all others work. Unknown names are error diagnostics too, in streams as their only message.
 * - Configurations go to all in order; configuring stops at the first error. Stop reaches all, regardless of the answers.
 * - A server that lacks a call is made up for where that can be done: metadata and functions from its schema, identities
 *   none, deletes planned as what they are.
 *
 * Rejects with `TFPLUGIN_OPTIONS_INVALID` where there is nothing to join, or protocols differ. Closing it closes all.
 *
 * Model: terraform-plugin-mux, with what is lost in its discovery and its stopping mended.
 */
export function createPluginMux(members: readonly MuxMember[]): PluginTransport {
  const [first] = members;
  if (first === undefined) {
    throw new TfpluginError("TFPLUGIN_OPTIONS_INVALID", "there is no provider to join");
  }
  const { protocol } = first.transport;
  const other = members.find(({ transport }) => transport.protocol !== protocol);
  if (other !== undefined) {
    throw new TfpluginError(
      "TFPLUGIN_OPTIONS_INVALID",
      `${first.name} speaks protocol ${protocol} and ${other.name} ${other.transport.protocol}: translate one of them first`,
    );
  }
  return new PluginMux(members, protocol);
}

class PluginMux implements PluginTransport {
  readonly protocol: 5 | 6;
  readonly #members: readonly MuxMember[];
  readonly #broadcasts: Broadcasts;
  /** Routes by the names of the protocol that is spoken. */
  readonly #routes: ReadonlyMap<string, Route>;
  #discovery: Promise<Ownership> | undefined;

  constructor(members: readonly MuxMember[], protocol: 5 | 6) {
    this.protocol = protocol;
    this.#members = members;
    const name = (method: string) => (protocol === 5 ? (NAMES_IN_5.get(method) ?? method) : method);
    this.#routes = new Map([...ROUTES].map(([method, route]) => [name(method), route]));
    this.#broadcasts = new Broadcasts(members, PLUGIN_METHODS[protocol], (found) => {
      // A call that has seen everything need not ask again.
      this.#discovery ??= Promise.resolve(found);
    });
  }

  async unary(method: string, request: Uint8Array, call: TransportCall): Promise<Uint8Array> {
    const route = this.#routes.get(method);
    if (route === undefined || route.shape !== "unary") {
      const answer = this.#broadcasts.answer(method, request, call);
      return answer ?? Promise.reject(unimplemented(method));
    }
    const { owner, problem } = await this.#owner(route, request, call);
    if (owner === undefined) return route.failed(problem, request);
    const answered = await this.#plannedDelete(method, owner, request, call);
    if (answered !== undefined) return answered;
    try {
      return await owner.transport.unary(method, request, call);
    } catch (error) {
      return route.failed(missingMethod(method, owner, error), request);
    }
  }

  readonly stream = (
    method: string,
    request: Uint8Array,
    call: TransportCall,
  ): AsyncIterable<Uint8Array> => this.#stream(method, request, call);

  async *#stream(
    method: string,
    request: Uint8Array,
    call: TransportCall,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const route = this.#routes.get(method);
    if (route?.shape !== "server stream") throw unimplemented(method);
    const { owner, problem } = await this.#owner(route, request, call);
    if (owner === undefined) {
      yield route.failed(problem, request);
      return;
    }
    try {
      if (owner.transport.stream === undefined) throw unimplemented(method);
      yield* owner.transport.stream(method, request, call);
    } catch (error) {
      yield route.failed(missingMethod(method, owner, error), request);
    }
  }

  readonly clientStream = async (
    method: string,
    requests: AsyncIterable<Uint8Array>,
    call: TransportCall,
  ): Promise<Uint8Array> => {
    const route = this.#routes.get(method);
    if (route?.shape !== "client stream") throw unimplemented(method);
    // The first message says where to; the others follow it as they come, none is kept.
    const iterator = requests[Symbol.asyncIterator]();
    const first = await iterator.next();
    const meta =
      first.done === true ? undefined : t6.WriteStateBytes_RequestChunk.decode(first.value).meta;
    if (first.done === true || meta === undefined) {
      await iterator.return?.();
      const what = first.done === true ? "no message" : "a first message that names no store";
      return route.failed(errorDiagnostic("Invalid State Stream", `There was ${what}.`), EMPTY);
    }
    const { owner, problem } = await this.#ownerOf(route, meta.typeName, call);
    if (owner === undefined) {
      await iterator.return?.();
      return route.failed(problem, EMPTY);
    }
    try {
      if (owner.transport.clientStream === undefined) throw unimplemented(method);
      return await owner.transport.clientStream(method, replay(first.value, iterator), call);
    } catch (error) {
      return route.failed(missingMethod(method, owner, error), EMPTY);
    }
  };

  async close(): Promise<void> {
    const results = await Promise.allSettled(
      this.#members.map(async ({ transport }) => transport.close()),
    );
    const errors = results.flatMap((result) =>
      result.status === "rejected" ? [result.reason as unknown] : [],
    );
    if (errors.length === 1) throw errors[0];
    if (errors.length > 1) throw new AggregateError(errors, "several providers did not close");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** A server that is not to be asked about deletes would not know what to say. */
  async #plannedDelete(
    method: string,
    owner: MuxMember,
    request: Uint8Array,
    call: TransportCall,
  ): Promise<Uint8Array | undefined> {
    if (method !== "PlanResourceChange") return undefined;
    const { planDestroy } = await this.#discover(call);
    if (planDestroy.has(owner)) return undefined;
    const { proposedNewState, priorPrivate } = t6.PlanResourceChange_Request.decode(request);
    if (!isNull(proposedNewState)) return undefined;
    return t6.PlanResourceChange_Response.encode(
      t6.PlanResourceChange_Response.fromPartial({
        plannedPrivate: priorPrivate,
        ...(proposedNewState && { plannedState: proposedNewState }),
      }),
    ).finish();
  }

  async #owner(route: Route, request: Uint8Array, call: TransportCall) {
    let name: string;
    try {
      name = textField(request, route.nameField);
    } catch (error) {
      throw new TfpluginError("TFPLUGIN_VALUE_INVALID", "the request is not a valid message", {
        outcome: "not-applied",
        cause: error,
      });
    }
    return this.#ownerOf(route, name, call);
  }

  async #ownerOf({ kind }: Route, name: string, call: TransportCall) {
    const { owners, shared } = await this.#discover(call);
    const owner = owners[kind].get(name);
    const what = KIND_NAMES[kind];
    const problem = shared[kind].has(name)
      ? errorDiagnostic(`${what} Ambiguous`, `Several of the combined servers have ${name}.`)
      : errorDiagnostic(`${what} Not Implemented`, `No combined server has ${name}.`);
    return { owner, problem };
  }

  async #discover(call: TransportCall): Promise<Ownership> {
    this.#discovery ??= this.#ask(call).catch((error: unknown) => {
      this.#discovery = undefined;
      throw error;
    });
    return this.#discovery;
  }

  async #ask(call: TransportCall): Promise<Ownership> {
    const inventories = [];
    for (const member of this.#members) {
      const inventory = await askInventory(member, PLUGIN_METHODS[this.protocol], call);
      inventories.push([member, inventory] as const);
    }
    return assignOwners(inventories);
  }
}

const EMPTY = new Uint8Array();

async function* replay(
  first: Uint8Array,
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield first;
    for (let next = await rest.next(); next.done !== true; next = await rest.next()) {
      yield next.value;
    }
  } finally {
    await rest.return?.();
  }
}

/** The ways in which null is written: not at all, in msgpack, in JSON. */
function isNull(value: t6.DynamicValue | undefined): boolean {
  if (value === undefined) return true;
  const { msgpack, json } = value;
  if (msgpack.length > 0) return msgpack.length === 1 && msgpack[0] === 0xc0;
  return json.length === 0 || new TextDecoder().decode(json).trim() === "null";
}

function unimplemented(method: string): TfpluginError {
  return new TfpluginError("TFPLUGIN_METHOD_UNIMPLEMENTED", `there is no method ${method}`, {
    subject: method,
    outcome: "not-applied",
  });
}

/** What to say where the owner of a name does not have the call; other errors are the owner's own. */
function missingMethod(method: string, { name }: MuxMember, error: unknown): t6.Diagnostic {
  if (!TfpluginError.is(error, "TFPLUGIN_METHOD_UNIMPLEMENTED")) throw error;
  return errorDiagnostic(
    `${method} Not Implemented`,
    `The server ${name} does not have ${method}.`,
  );
}
