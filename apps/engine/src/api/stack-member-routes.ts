import { readStored } from "@stackwright/storage";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Static, type TObject, type TSchema, Type } from "typebox";
import { decodeRecord, type RecordKind } from "../domain/record-kind.ts";
import { memberPlace, type Place } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { idOf, type StoredRow, type Transaction, transact } from "../queue/transaction.ts";
import {
  type ApiParts,
  etagOf,
  MatchHeader,
  ProjectName,
  requireMatch,
  routeSchema,
  StackNameSchema,
  StackParams,
  stackOf,
} from "./api-parts.ts";

const CHANGED = { 412: "it changed since it was read", 428: "If-Match is missing" };

type InStack = { Params: Static<typeof StackParams> };

/** A kind of which a stack has some, each with an id, that operators create, change and delete. */
interface StackMember<M, Change extends TObject, View extends TSchema> {
  readonly kind: RecordKind<M>;
  /** Singular, as in paths and texts: `schedule`. */
  readonly noun: string;
  /** Singular, as in the names of operations: `Schedule`. */
  readonly name: string;
  readonly view: View;
  readonly viewOf: (message: M) => Static<View>;
  readonly change: Change;
  /** What the operation that changes does, for the document. */
  readonly changes: string;
  /** What a request changes; the actor is set by the route. */
  readonly changed: (message: M, body: Static<Change>, nowMs: number) => Partial<M>;
  /** Refuses a change by what else is stored. @default none */
  readonly requireAllowed?: (
    tx: Transaction,
    place: Place,
    change: { readonly message: M; readonly body: Static<Change> },
  ) => Promise<void>;
}

/** Lists, shows, changes and deletes such members; what creates them is up to their own routes. */
export function stackMemberRoutes<
  M extends { readonly actor: string },
  Change extends TObject,
  View extends TSchema,
>(fastify: FastifyInstance, parts: ApiParts, member: StackMember<M, Change, View>): void {
  const { storage, principalOf } = parts;
  const { kind, noun, name, view, viewOf, change, changes, changed, requireAllowed } = member;
  const params = Type.Object({
    project: ProjectName,
    stack: StackNameSchema,
    [noun]: Type.String({ pattern: "^[0-9A-Z]{26}$" }),
  });
  const all = `/projects/:project/stacks/:stack/${noun}s`;
  const one = `${all}/:${noun}`;
  const placeOf = async (request: FastifyRequest): Promise<Place> => {
    const given = request.params as InStack["Params"] & Readonly<Record<string, string>>;
    const { reference } = await stackOf(parts, principalOf(request), given);
    return memberPlace(reference, given[noun] ?? "");
  };
  const missing = ({ name: at }: Place): ServerError =>
    new ServerError("not_found", `the stack has no ${noun} ${at.slice(at.indexOf(".") + 1)}`);
  const find = async (tx: Transaction, place: Place): Promise<StoredRow<M>> => {
    const row = await tx.find(kind, place);
    if (row === undefined) throw missing(place);
    return row;
  };

  fastify.get<InStack>(
    all,
    {
      schema: routeSchema(
        `List the ${noun}s of a stack, the oldest first`,
        `List${name}s`,
        { 200: Type.Object({ [`${noun}s`]: Type.Array(view) }) },
        { params: StackParams },
      ),
      config: { access: "viewer" },
    },
    async (request) => {
      const { reference } = await stackOf(parts, principalOf(request), request.params);
      const { tenancy, name: prefix } = memberPlace(reference, "");
      const found = await storage.list("strong", kind.type, tenancy, prefix);
      // Their names end with ULIDs.
      const inOrder = found.toSorted((a, b) => (a.id.name < b.id.name ? -1 : 1));
      return { [`${noun}s`]: inOrder.map((resource) => viewOf(decodeRecord(kind, resource))) };
    },
  );

  fastify.get(
    one,
    {
      schema: routeSchema(
        `Show a ${noun}; its entity tag is what If-Match takes`,
        `Show${name}`,
        { 200: view },
        { params },
      ),
      config: { access: "viewer" },
    },
    async (request, reply) => {
      const place = await placeOf(request);
      const found = await readStored(storage, "strong", idOf(kind, place));
      if (found === undefined) throw missing(place);
      reply.header("etag", etagOf(found.generation));
      return viewOf(decodeRecord(kind, found));
    },
  );

  fastify.patch(
    one,
    {
      schema: routeSchema(
        changes,
        `Change${name}`,
        { 200: view },
        { params, body: change, headers: MatchHeader },
        CHANGED,
      ),
      config: { access: "operator" },
    },
    async (request, reply) => {
      const place = await placeOf(request);
      const { actor } = principalOf(request);
      const { message, generation } = await transact(parts.audited(request), async (tx) => {
        const row = await find(tx, place);
        requireMatch(request, row.resource.generation);
        // Validated by the schema of the route.
        const body = request.body as Static<Change>;
        await requireAllowed?.(tx, place, { message: row.message, body });
        tx.update(row, { ...changed(row.message, body, tx.nowMs), actor });
        return { message: row.message, generation: tx.generation };
      });
      reply.header("etag", etagOf(generation));
      return viewOf(message);
    },
  );

  fastify.delete(
    one,
    {
      schema: routeSchema(
        `Delete a ${noun}; its runs stay`,
        `Delete${name}`,
        { 204: Type.Null() },
        { params, headers: MatchHeader },
        CHANGED,
      ),
      config: { access: "operator" },
    },
    async (request, reply) => {
      const place = await placeOf(request);
      await transact(parts.audited(request), async (tx) => {
        const row = await find(tx, place);
        requireMatch(request, row.resource.generation);
        tx.remove(row);
      });
      return reply.code(204).send();
    },
  );
}
