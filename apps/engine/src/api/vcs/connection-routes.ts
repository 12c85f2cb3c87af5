import { randomBytes } from "node:crypto";
import { VcsConnection } from "@stackwright/proto/stackwright";
import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { decodeRecord } from "../../domain/record-kind.ts";
import { projectTenancy } from "../../domain/run-places.ts";
import { ServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { requireRoom } from "../../queue/require-room.ts";
import { transact } from "../../queue/transaction.ts";
import { askFor } from "../../vcs/ask-for.ts";
import { addCheck } from "../../vcs/connection-checks.ts";
import { kindOf, STORED_KINDS } from "../../vcs/connection-kind.ts";
import {
  branchPlace,
  type ConnectionReference,
  connectionPlace,
  keyedPlace,
} from "../../vcs/vcs-places.ts";
import {
  type ApiParts,
  etagOf,
  MatchHeader,
  ProjectParams,
  requireMatch,
  routeSchema,
} from "../api-parts.ts";
import {
  API_URLS,
  type ConnectionSettings,
  connectionChange,
  requireTokenForAddress,
} from "./connection-settings.ts";
import {
  ConnectionChange,
  ConnectionView,
  connectionViewOf,
  NewConnection,
} from "./connection-view.ts";
import { TaskView, taskViewOf } from "./pull-request-view.ts";
import {
  ConnectionParams,
  connectionReference,
  findConnection,
  ONE_CONNECTION,
  readConnection,
} from "./stored-connection.ts";

const ALL = "/projects/:project/vcs-connections";
const CHANGED = { 412: "it changed since it was read", 428: "If-Match is missing" };
const KIND = SERVER_KINDS.vcsConnection;
/** Connections of a project. */
const MAX_CONNECTIONS = 100;

type InProject = { Params: Static<typeof ProjectParams> };
type InConnection = { Params: Static<typeof ConnectionParams> };

/** `/projects/{project}/vcs-connections` */
export function connectionRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, principalOf } = parts;
  fastify.get<InProject>(
    ALL,
    {
      schema: routeSchema(
        "List the connections of a project to Git repositories",
        "ListVcsConnections",
        { 200: Type.Object({ connections: Type.Array(ConnectionView) }) },
        { params: ProjectParams },
      ),
      config: { access: "operator" },
    },
    async (request) => {
      const reference = connectionReference(parts, request, { ...request.params, connection: "" });
      const found = await storage.list("strong", KIND.type, projectTenancy(reference), "");
      const connections = found.map((one) => connectionViewOf(decodeRecord(KIND, one), reference));
      return { connections: connections.toSorted((a, b) => (a.name < b.name ? -1 : 1)) };
    },
  );

  fastify.post<InProject & { Body: Static<typeof NewConnection> }>(
    ALL,
    {
      schema: routeSchema(
        "Connect a Git repository, whose pull requests are planned from then on",
        "CreateVcsConnection",
        { 201: ConnectionView },
        { params: ProjectParams, body: NewConnection },
        { 409: "the name is in use", 422: "a setting is not possible" },
      ),
      config: { access: "admin" },
    },
    async (request, reply) => {
      const { name, kind, ...settings } = request.body;
      const reference = connectionReference(parts, request, {
        ...request.params,
        connection: name,
      });
      if (kind !== "generic" && settings.repository === undefined) {
        throw new ServerError(
          "unprocessable",
          "repository is missing: OWNER/NAME at the Git server",
        );
      }
      const apiUrl = settings.api_url ?? API_URLS[kind];
      if (apiUrl === undefined) {
        throw new ServerError(
          "unprocessable",
          "api_url is missing, such as https://git.example.com/api/v1",
        );
      }
      const id = parts.token();
      const secret = settings.webhook_secret ?? randomBytes(32).toString("base64url");
      const given = {
        branch: "main",
        apply: "manual" as const,
        required_reviews: kind === "generic" ? 0 : 1,
        ...settings,
        ...(kind !== "generic" && { api_url: apiUrl }),
        webhook_secret: secret,
      };
      const { actor } = principalOf(request);
      const { message, generation } = await transact(parts.audited(request), async (tx) => {
        const change = await connectionChange(tx, parts, reference, { id, kind }, given);
        if ((await tx.find(KIND, connectionPlace(reference))) !== undefined) {
          throw new ServerError("name_taken", `the project has a connection "${name}"`);
        }
        const detail = `a project has at most ${MAX_CONNECTIONS} connections`;
        const tenancy = projectTenancy(reference);
        await requireRoom(parts, tx, { kind: KIND, tenancy, most: MAX_CONNECTIONS, detail });
        const at = BigInt(tx.nowMs);
        const made = VcsConnection.create({
          id,
          name,
          kind: STORED_KINDS[kind],
          actor,
          createdAtMs: at,
          updatedAtMs: at,
        });
        const connection = { ...made, ...change };
        tx.create(KIND, connectionPlace(reference), connection);
        // The first look remembers what is on the branch, so that what comes later is new.
        await askFor(tx, reference, connection);
        await addCheck(tx, reference, connection, tx.nowMs);
        return { message: connection, generation: tx.generation };
      });
      const location = `/api/v1/projects/${reference.project}/vcs-connections/${name}`;
      reply.headers({ location, etag: etagOf(generation) });
      const shown = { ...connectionViewOf(message, reference), webhook_secret: secret };
      return reply.code(201).send(shown);
    },
  );

  fastify.get<InConnection>(
    ONE_CONNECTION,
    {
      schema: routeSchema(
        "Show a connection; its entity tag is what If-Match takes",
        "ShowVcsConnection",
        { 200: ConnectionView },
        { params: ConnectionParams },
      ),
      config: { access: "operator" },
    },
    async (request, reply) => {
      const reference = connectionReference(parts, request, request.params);
      const { connection, generation } = await readConnection(storage, reference);
      reply.header("etag", etagOf(generation));
      return connectionViewOf(connection, reference);
    },
  );

  fastify.patch<InConnection & { Body: ConnectionSettings }>(
    ONE_CONNECTION,
    {
      schema: routeSchema(
        "Change the settings of a connection that the request names",
        "ChangeVcsConnection",
        { 200: ConnectionView },
        { params: ConnectionParams, body: ConnectionChange, headers: MatchHeader },
        { ...CHANGED, 422: "a setting is not possible" },
      ),
      config: { access: "admin" },
    },
    async (request, reply) => {
      const reference = connectionReference(parts, request, request.params);
      const { connection } = await readConnection(storage, reference);
      const known = { id: connection.id, kind: kindOf(connection.kind) };
      const { actor } = principalOf(request);
      const { message, generation } = await transact(parts.audited(request), async (tx) => {
        const row = await findConnection(tx, reference);
        if (row.message.id !== connection.id) throw new ServerError("changed");
        requireMatch(request, row.resource.generation);
        const change = await connectionChange(tx, parts, reference, known, request.body);
        requireTokenForAddress(row.message, change);
        tx.update(row, { ...change, actor, updatedAtMs: BigInt(tx.nowMs) });
        return { message: row.message, generation: tx.generation };
      });
      reply.header("etag", etagOf(generation));
      return connectionViewOf(message, reference);
    },
  );

  fastify.delete<InConnection>(
    ONE_CONNECTION,
    {
      schema: routeSchema(
        "Delete a connection; its runs stay",
        "DeleteVcsConnection",
        { 204: Type.Null() },
        { params: ConnectionParams, headers: MatchHeader },
        CHANGED,
      ),
      config: { access: "admin" },
    },
    async (request, reply) => {
      const reference = connectionReference(parts, request, request.params);
      await transact(parts.audited(request), async (tx) => {
        const row = await findConnection(tx, reference);
        requireMatch(request, row.resource.generation);
        tx.remove(row);
        const branch = await tx.find(SERVER_KINDS.vcsBranch, branchPlace(reference, row.message));
        if (branch !== undefined) tx.remove(branch);
      });
      return reply.code(204).send();
    },
  );

  fastify.post<InConnection>(
    `${ONE_CONNECTION}/sync`,
    {
      schema: routeSchema(
        "Compare the branch of a connection with what was planned, as a delivery does",
        "SyncVcsConnection",
        { 202: Type.Object({ tasks: Type.Array(TaskView) }) },
        { params: ConnectionParams },
      ),
      config: { access: "operator" },
    },
    async (request, reply) => {
      const reference = connectionReference(parts, request, request.params);
      await transact(parts.audited(request), async (tx) => {
        const row = await findConnection(tx, reference);
        await askFor(tx, reference, row.message);
      });
      return reply.code(202).send({ tasks: await listTasks(reference) });
    },
  );

  const listTasks = async (reference: ConnectionReference) => {
    const { connection } = await readConnection(storage, reference);
    const { type } = SERVER_KINDS.vcsTask;
    const { tenancy, name } = keyedPlace(reference, connection, "");
    const found = await storage.list("strong", type, tenancy, name);
    const tasks = found.map((one) => decodeRecord(SERVER_KINDS.vcsTask, one));
    // What looks for lost deliveries is always there; it is shown where it fails.
    return tasks.filter(({ check, attempts }) => !check || attempts > 0).map(taskViewOf);
  };

  fastify.get<InConnection>(
    `${ONE_CONNECTION}/tasks`,
    {
      schema: routeSchema(
        "List what is left to do for a connection, with what it fails for",
        "ListVcsTasks",
        { 200: Type.Object({ tasks: Type.Array(TaskView) }) },
        { params: ConnectionParams },
      ),
      config: { access: "operator" },
    },
    async (request) => ({
      tasks: await listTasks(connectionReference(parts, request, request.params)),
    }),
  );
}
