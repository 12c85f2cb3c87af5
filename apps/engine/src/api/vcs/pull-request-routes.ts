import { readStored } from "@stackwright/storage";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import { decodeRecord } from "../../domain/record-kind.ts";
import { ServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { idOf } from "../../queue/transaction.ts";
import { readText } from "../../vcs/read-text.ts";
import { keyedPlace, pullRequestKey } from "../../vcs/vcs-places.ts";
import { type ApiParts, ProjectName, routeSchema } from "../api-parts.ts";
import { ConnectionName } from "./connection-view.ts";
import { PullRequestView, pullRequestViewOf } from "./pull-request-view.ts";
import {
  ConnectionParams,
  connectionReference,
  ONE_CONNECTION,
  readConnection,
} from "./stored-connection.ts";

const PullRequestParams = Type.Object({
  project: ProjectName,
  connection: ConnectionName,
  pull_request: Type.String({ minLength: 1, maxLength: 256 }),
});

type InConnection = { Params: Static<typeof ConnectionParams> };
type InPullRequest = { Params: Static<typeof PullRequestParams> };

/** `/projects/{project}/vcs-connections/{connection}/pull-requests` */
export function pullRequestRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, blobs } = parts;
  const readPullRequest = async (request: FastifyRequest<InPullRequest>) => {
    const reference = connectionReference(parts, request, request.params);
    const { connection } = await readConnection(storage, reference);
    const { pull_request: id } = request.params;
    const place = keyedPlace(reference, connection, pullRequestKey(id));
    const found = await readStored(storage, "strong", idOf(SERVER_KINDS.vcsPullRequest, place));
    if (found === undefined) {
      throw new ServerError("not_found", `the connection knows no pull request "${id}"`);
    }
    return decodeRecord(SERVER_KINDS.vcsPullRequest, found);
  };

  fastify.get<InConnection>(
    `${ONE_CONNECTION}/pull-requests`,
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
      const reference = connectionReference(parts, request, request.params);
      const { connection } = await readConnection(storage, reference);
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
    `${ONE_CONNECTION}/pull-requests/:pull_request`,
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
    `${ONE_CONNECTION}/pull-requests/:pull_request/comment`,
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
