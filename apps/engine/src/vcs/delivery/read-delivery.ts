import type { IncomingHttpHeaders } from "node:http";
import { isJsonObject, readJsonObject } from "@stackwright/base/json";
import type { VcsCommand } from "@stackwright/proto/stackwright";
import { ServerError } from "../../domain/server-error.ts";
import type { ConnectionKind } from "../connection-kind.ts";
import { branchOf } from "../git/branch-name.ts";

/** What a delivery concerns. How things are is asked of the Git server: deliveries come late, twice, and in any order. */
export interface VcsEvent {
  /** `push`, `pull_request`, `comment`; `ignored` and others concern nothing. */
  readonly event: string;
  /** The branch of the connection, or a pull request by its id; undefined where it concerns neither. */
  readonly concerns?: "branch" | { readonly pullRequest: string };
  readonly command?: Pick<VcsCommand, "user" | "verb" | "writtenAtMs">;
}

interface DeliveryContext {
  readonly kind: ConnectionKind;
  readonly headers: IncomingHttpHeaders;
  /** `OWNER/NAME`; empty for the kind generic. */
  readonly repository: string;
  readonly branch: string;
  readonly nowMs: number;
}

/** How old a delivery may be whose content counts: it is known for longer, so that it is carried out once. */
const MAX_AGE_MS = 24 * 3_600_000;
const MAX_AHEAD_MS = 10 * 60_000;

/** Reads the body of a delivery whose signature is right. `invalid_request` for one that says nothing. */
export function readDelivery(body: Uint8Array, context: DeliveryContext): VcsEvent {
  const form = context.headers["content-type"] ?? "";
  if (form.startsWith("application/x-www-form-urlencoded")) {
    throw new ServerError(
      "unsupported_media_type",
      "set the content type of the webhook to application/json",
    );
  }
  const { object, problem } = readJsonObject(body, { maxDepth: 64 });
  if (problem !== undefined) {
    throw new ServerError("invalid_request", "the body of the delivery is not a JSON object");
  }
  return context.kind === "generic" ? genericEvent(object, context) : hostedEvent(object, context);
}

type Members = Readonly<Record<string, unknown>>;

function genericEvent(body: Members, { branch, nowMs }: DeliveryContext): VcsEvent {
  const { ref, time } = body;
  if (typeof ref !== "string" || typeof time !== "number" || ref.length > 512) {
    throw new ServerError("invalid_request", "a delivery has ref and time (seconds since 1970)");
  }
  const ageMs = nowMs - time * 1_000;
  if (!(ageMs <= MAX_AGE_MS && ageMs >= -MAX_AHEAD_MS)) {
    throw new ServerError("invalid_request", "the time of the delivery is too far from now");
  }
  const name = branchOf(ref);
  if (name === undefined) return { event: "ignored" };
  return { event: "push", concerns: name === branch ? "branch" : { pullRequest: name } };
}

function hostedEvent(
  body: Members,
  { kind, headers, repository, branch, nowMs }: DeliveryContext,
): VcsEvent {
  const names = kind === "github" ? ["x-github-event"] : ["x-forgejo-event", "x-gitea-event"];
  const event = names.map((name) => headers[name]).find((value) => typeof value === "string");
  const own = membersOf(body["repository"]);
  if (textOf(own["full_name"]).toLowerCase() !== repository.toLowerCase()) {
    return { event: "ignored" };
  }
  if (event === "push") {
    return body["ref"] === `refs/heads/${branch}` ? { event, concerns: "branch" } : { event };
  }
  if (event === "pull_request") {
    const id = numberOf(body["number"] ?? membersOf(body["pull_request"])["number"]);
    return id === undefined ? { event } : { event, concerns: { pullRequest: id } };
  }
  if (event !== "issue_comment" || body["action"] !== "created") return { event: "ignored" };
  const issue = membersOf(body["issue"]);
  const id = numberOf(issue["number"]);
  const isPull = body["is_pull"] === true || isJsonObject(issue["pull_request"]);
  const comment = membersOf(body["comment"]);
  const verb = verbOf(textOf(comment["body"]));
  const user = textOf(membersOf(comment["user"])["login"]);
  const writtenMs = Date.parse(textOf(comment["created_at"]));
  const age = nowMs - writtenMs;
  if (id === undefined || !isPull || verb === undefined || user === "" || !(age <= MAX_AGE_MS)) {
    return { event: "ignored" };
  }
  return {
    event: "comment",
    concerns: { pullRequest: id },
    command: { user, verb, writtenAtMs: BigInt(writtenMs) },
  };
}

/** What a comment asks for, if its first line is nothing else. */
export function verbOf(comment: string): "plan" | "apply" | undefined {
  const [line = ""] = comment.trimStart().split("\n");
  const [, verb] = /^\/?stackwright[ \t]+(plan|apply)[ \t\r]*$/.exec(line) ?? [];
  return verb as "plan" | "apply" | undefined;
}

function membersOf(value: unknown): Members {
  return isJsonObject(value) ? value : {};
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value.slice(0, 65_536) : "";
}

function numberOf(value: unknown): string | undefined {
  return Number.isSafeInteger(value) && Number(value) > 0 ? String(value) : undefined;
}
