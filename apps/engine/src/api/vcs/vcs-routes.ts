import { randomBytes } from "node:crypto";
import { VcsConnection } from "@stackwright/proto/stackwright";
import { readStored } from "@stackwright/storage";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import { decodeRecord } from "../../domain/record-kind.ts";
import { projectTenancy } from "../../domain/run-places.ts";
import { ServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { idOf, type StoredRow, type Transaction, transact } from "../../queue/transaction.ts";
import { askFor } from "../../vcs/ask-for.ts";
import {
  type ConnectionKind,
  kindOf,
  STORED_KINDS,
  STORED_POLICIES,
} from "../../vcs/connection-kind.ts";
import { sealSecret } from "../../vcs/connection-secrets.ts";
import { repositoryFolder } from "../../vcs/git/repository-path.ts";
import { readText } from "../../vcs/read-text.ts";
import { protocolOf, requirePrivateAddress } from "../../vcs/repository-address.ts";
import {
  branchPlace,
  type ConnectionReference,
  connectionPlace,
  keyedPlace,
  pullRequestKey,
} from "../../vcs/vcs-places.ts";
import {
  type ApiParts,
  checkProjectName,
  etagOf,
  MatchHeader,
  ProjectName,
  ProjectParams,
  requireMatch,
  routeSchema,
} from "../api-parts.ts";
import {
  ConnectionChange,
  ConnectionName,
  ConnectionView,
  connectionViewOf,
  NewConnection,
} from "./connection-view.ts";
import { PullRequestView, pullRequestViewOf, TaskView, taskViewOf } from "./pull-request-view.ts";

const ConnectionParams = Type.Object({ project: ProjectName, connection: ConnectionName });
const PullRequestParams = Type.Object({
  project: ProjectName,
  connection: ConnectionName,
  pull_request: Type.String({ minLength: 1, maxLength: 256 }),
});
const ALL = "/projects/:project/vcs-connections";
const ONE = `${ALL}/:connection`;
const CHANGED = { 412: "it changed since it was read", 428: "If-Match is missing" };
const KIND = SERVER_KINDS.vcsConnection;
/** Connections of a project. */
const MAX_CONNECTIONS = 100;

type InProject = { Params: Static<typeof ProjectParams> };
type InConnection = { Params: Static<typeof ConnectionParams> };
type InPullRequest = { Params: Static<typeof PullRequestParams> };
type Settings = Static<typeof ConnectionChange>;

/** `/projects/{project}/vcs-connections` */
export function vcsRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, blobs, keys, principalOf, localFolders, hosts } = parts;
  const referenceOf = (
    request: FastifyRequest,
    { project, connection: name }: { readonly project: string; readonly connection: string },
  ): ConnectionReference => {
    checkProjectName(project);
    return { account: principalOf(request).account, project, name };
  };
  const readConnection = async (reference: ConnectionReference) => {
    const found = await readStored(storage, "strong", idOf(KIND, connectionPlace(reference)));
    if (found === undefined) throw noConnection(reference);
    return { connection: decodeRecord(KIND, found), generation: found.generation };
  };
  /** What a request sets; secrets are encrypted. */
  const changeOf = async (
    reference: ConnectionReference,
    { id, kind }: { readonly id: string; readonly kind: ConnectionKind },
    settings: Settings,
  ): Promise<Partial<VcsConnection>> => {
    const { repository_url: repositoryUrl, api_url: apiUrl, report_url: reportUrl } = settings;
    if (repositoryUrl !== undefined) protocolOf(repositoryUrl, localFolders);
    for (const address of [apiUrl, reportUrl]) {
      if (address !== undefined && address !== "") hosts.require(requirePrivateAddress(address));
    }
    if (kind === "generic" && (apiUrl || settings.repository)) {
      throw new ServerError("unprocessable", "api_url and repository are for gitea and github");
    }
    if (kind !== "generic" && reportUrl) {
      throw new ServerError("unprocessable", "report_url is for the kind generic");
    }
    const seal = async (member: "token" | "webhook_secret", text: string) =>
      text === "" ? Buffer.alloc(0) : sealSecret(keys, reference, id, member, text);
    const { token, webhook_secret: secret, stacks, branch, repository } = settings;
    if (stacks !== undefined) requireDistinct(stacks.map(({ stack }) => stack));
    return {
      ...(repositoryUrl !== undefined && { repositoryUrl }),
      ...(apiUrl !== undefined && { apiUrl }),
      ...(reportUrl !== undefined && { reportUrl }),
      ...(repository !== undefined && { repository }),
      ...(branch !== undefined && { branch }),
      ...(settings.apply !== undefined && { apply: STORED_POLICIES[settings.apply] }),
      ...(settings.appliers !== undefined && { appliers: settings.appliers }),
      ...(settings.required_reviews !== undefined && {
        requiredReviews: settings.required_reviews,
      }),
      ...(stacks !== undefined && {
        stacks: stacks.map(({ stack, directory = "", paths = [] }) => ({
          stack,
          directory: repositoryFolder(directory),
          paths,
        })),
      }),
      ...(token !== undefined && { token: await seal("token", token) }),
      ...(secret !== undefined && { webhookSecret: await seal("webhook_secret", secret) }),
    };
  };

  const readPullRequest = async (request: FastifyRequest<InPullRequest>) => {
    const reference = referenceOf(request, request.params);
    const { connection } = await readConnection(reference);
    const { pull_request: id } = request.params;
    const place = keyedPlace(reference, connection, pullRequestKey(id));
    const found = await readStored(storage, "strong", idOf(SERVER_KINDS.vcsPullRequest, place));
    if (found === undefined) {
      throw new ServerError("not_found", `the connection knows no pull request "${id}"`);
    }
    return decodeRecord(SERVER_KINDS.vcsPullRequest, found);
  };

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
      const reference = referenceOf(request, { ...request.params, connection: "" });
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
      const reference = referenceOf(request, { ...request.params, connection: name });
      const { type } = KIND;
      const known = await storage.list("strong", type, projectTenancy(reference), "");
      if (known.length >= MAX_CONNECTIONS) {
        throw new ServerError(
          "unprocessable",
          `a project has at most ${MAX_CONNECTIONS} connections`,
        );
      }
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
        required_reviews: 1,
        ...settings,
        ...(kind !== "generic" && { api_url: apiUrl }),
        webhook_secret: secret,
      };
      const change = await changeOf(reference, { id, kind }, given);
      const { actor } = principalOf(request);
      const { message, generation } = await transact(parts, async (tx) => {
        if ((await tx.find(KIND, connectionPlace(reference))) !== undefined) {
          throw new ServerError("name_taken", `the project has a connection "${name}"`);
        }
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
        return { message: connection, generation: tx.generation };
      });
      const location = `/api/v1/projects/${reference.project}/vcs-connections/${name}`;
      reply.headers({ location, etag: etagOf(generation) });
      const shown = { ...connectionViewOf(message, reference), webhook_secret: secret };
      return reply.code(201).send(shown);
    },
  );

  fastify.get<InConnection>(
    ONE,
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
      const reference = referenceOf(request, request.params);
      const { connection, generation } = await readConnection(reference);
      reply.header("etag", etagOf(generation));
      return connectionViewOf(connection, reference);
    },
  );

  fastify.patch<InConnection & { Body: Settings }>(
    ONE,
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
      const reference = referenceOf(request, request.params);
      const { connection } = await readConnection(reference);
      const known = { id: connection.id, kind: kindOf(connection.kind) };
      const change = await changeOf(reference, known, request.body);
      const { actor } = principalOf(request);
      const { message, generation } = await transact(parts, async (tx) => {
        const row = await findConnection(tx, reference);
        if (row.message.id !== connection.id) throw new ServerError("changed");
        requireMatch(request, row.resource.generation);
        requireTokenForAddress(row.message, change);
        tx.update(row, { ...change, actor, updatedAtMs: BigInt(tx.nowMs) });
        return { message: row.message, generation: tx.generation };
      });
      reply.header("etag", etagOf(generation));
      return connectionViewOf(message, reference);
    },
  );

  fastify.delete<InConnection>(
    ONE,
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
      const reference = referenceOf(request, request.params);
      await transact(parts, async (tx) => {
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
    `${ONE}/sync`,
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
      const reference = referenceOf(request, request.params);
      await transact(parts, async (tx) => {
        const row = await findConnection(tx, reference);
        await askFor(tx, reference, row.message);
      });
      return reply.code(202).send({ tasks: await listTasks(reference) });
    },
  );

  const listTasks = async (reference: ConnectionReference) => {
    const { connection } = await readConnection(reference);
    const { type } = SERVER_KINDS.vcsTask;
    const { tenancy, name } = keyedPlace(reference, connection, "");
    const found = await storage.list("strong", type, tenancy, name);
    return found.map((one) => taskViewOf(decodeRecord(SERVER_KINDS.vcsTask, one)));
  };

  fastify.get<InConnection>(
    `${ONE}/tasks`,
    {
      schema: routeSchema(
        "List what is left to do for a connection, with what it fails for",
        "ListVcsTasks",
        { 200: Type.Object({ tasks: Type.Array(TaskView) }) },
        { params: ConnectionParams },
      ),
      config: { access: "operator" },
    },
    async (request) => ({ tasks: await listTasks(referenceOf(request, request.params)) }),
  );

  fastify.get<InConnection>(
    `${ONE}/pull-requests`,
    {
      schema: routeSchema(
        "List the pull requests of a connection, the newest first",
        "ListPullRequests",
        { 200: Type.Object({ pull_requests: Type.Array(PullRequestView) }) },
        { params: ConnectionParams },
      ),
      config: { access: "viewer" },
    },
    async (request) => {
      const reference = referenceOf(request, request.params);
      const { connection } = await readConnection(reference);
      const { type } = SERVER_KINDS.vcsPullRequest;
      const { tenancy, name } = keyedPlace(reference, connection, "");
      const found = await storage.list("strong", type, tenancy, name);
      const pulls = found
        .map((one) => decodeRecord(SERVER_KINDS.vcsPullRequest, one))
        .toSorted((a, b) => Number(b.createdAtMs - a.createdAtMs));
      return { pull_requests: pulls.slice(0, 200).map(pullRequestViewOf) };
    },
  );

  fastify.get<InPullRequest>(
    `${ONE}/pull-requests/:pull_request`,
    {
      schema: routeSchema(
        "Show a pull request by its number, or by its branch where it has none",
        "ShowPullRequest",
        { 200: PullRequestView },
        { params: PullRequestParams },
      ),
      config: { access: "viewer" },
    },
    async (request) => {
      return pullRequestViewOf(await readPullRequest(request));
    },
  );

  fastify.get<InPullRequest>(
    `${ONE}/pull-requests/:pull_request/comment`,
    {
      schema: routeSchema(
        "Show the comment of a pull request, with the plans of its stacks",
        "ShowPullRequestComment",
        { 200: Type.String() },
        { params: PullRequestParams, produces: ["text/markdown"] },
      ),
      config: { access: "viewer" },
    },
    async (request, reply) => {
      const { commentSha256, id } = await readPullRequest(request);
      const text = await readText(blobs, commentSha256, new AbortController().signal);
      if (text === undefined) {
        throw new ServerError("not_found", `there is no comment of the pull request "${id}" yet`);
      }
      return reply
        .headers({ "content-security-policy": "default-src 'none'; sandbox" })
        .type("text/markdown; charset=utf-8")
        .send(text);
    },
  );
}

/** The APIs that are known by the kind; that of the kind generic is none. */
const API_URLS: Readonly<Record<ConnectionKind, string | undefined>> = {
  generic: "",
  gitea: undefined,
  github: "https://api.github.com",
};

async function findConnection(
  tx: Transaction,
  reference: ConnectionReference,
): Promise<StoredRow<VcsConnection>> {
  const row = await tx.find(KIND, connectionPlace(reference));
  if (row === undefined) throw noConnection(reference);
  return row;
}

function noConnection({ name }: ConnectionReference): ServerError {
  return new ServerError("not_found", `there is no connection "${name}"`);
}

function requireDistinct(names: readonly string[]): void {
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice === undefined) return;
  throw new ServerError("unprocessable", `the stack "${twice}" is named twice`);
}

/** A stored token goes to the addresses that it was given for; a changed one could be anybody's. */
function requireTokenForAddress(
  { token, repositoryUrl, apiUrl }: VcsConnection,
  change: Partial<VcsConnection>,
): void {
  const moves =
    (change.repositoryUrl ?? repositoryUrl) !== repositoryUrl ||
    (change.apiUrl ?? apiUrl) !== apiUrl;
  if (token.length === 0 || !moves || change.token !== undefined) return;
  throw new ServerError(
    "unprocessable",
    "the stored token is for the addresses of before; give a token with a new repository_url or api_url",
  );
}
