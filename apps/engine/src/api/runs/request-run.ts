import { isEnded, type NamedStack } from "@stackwright/core";
import { type IdempotencyRecord, type Run, Run_Mode } from "@stackwright/proto/stackwright";
import type { FastifyReply, FastifyRequest } from "fastify";
import { isServerError, ServerError } from "../../domain/server-error.ts";
import { enqueueRun } from "../../queue/enqueue.ts";
import { phaseOf } from "../../queue/run-row.ts";
import type { ApiParts } from "../api-parts.ts";
import { findReplay, idempotencyOf } from "../idempotency.ts";
import { runViewOf } from "./run-view.ts";

type Requested = Omit<
  Parameters<typeof enqueueRun>[1],
  "reference" | "stackName" | "actor" | "idempotency"
>;

/** Enqueues the run of a request, and answers; a repetition with the same idempotency key gets the first answer. */
export async function requestRun(
  parts: ApiParts,
  request: FastifyRequest,
  reply: FastifyReply,
  { reference: stack, name }: NamedStack,
  requested: Requested,
): Promise<FastifyReply> {
  const principal = parts.principalOf(request);
  const reference = { stack, run: parts.token() };
  const location = `/api/v1/projects/${stack.project}/stacks/${name}/runs/${reference.run}`;
  const idempotency = idempotencyOf<Run>(request, principal, parts.clock, (run) => ({
    status: 201,
    location,
    body: JSON.stringify(runViewOf(run)),
  }));
  const known = idempotency && (await findReplay(parts, idempotency));
  if (known !== undefined) return replay(reply, known);
  try {
    const run = await enqueueRun(parts.audited(request), {
      ...requested,
      reference,
      stackName: name,
      actor: principal.actor,
      ...(idempotency !== undefined && { idempotency }),
    });
    return await reply.code(201).header("location", location).send(runViewOf(run));
  } catch (error) {
    // Another request with the key was faster: its answer is the answer.
    const other =
      isServerError(error, "in_progress") && idempotency !== undefined
        ? await findReplay(parts, idempotency)
        : undefined;
    if (other === undefined) throw error;
    return replay(reply, other);
  }
}

/** `illegal_transition` for a run that has not ended or has done all, or whose options are a command's, `command_run` for one of a command. */
export function requireRetry(run: Run): void {
  if (run.mode === Run_Mode.MODE_UNSPECIFIED) throw new ServerError("command_run");
  const phase = phaseOf(run);
  if (run.planOnly || run.savedPlan || run.skipRefresh || run.variables.byteLength > 0) {
    throw new ServerError(
      "illegal_transition",
      `a terraform or tofu command requested the run ${run.id} with options of its own; start that command again`,
    );
  }
  if (isEnded(phase) && phase !== "applied") return;
  throw new ServerError(
    "illegal_transition",
    `the run ${run.id} is ${phase}; runs that ended without applying all of their plan can be requested again`,
  );
}

/** Answers a request again that was answered before. */
export function replay(
  reply: FastifyReply,
  { status, body, location }: IdempotencyRecord,
): FastifyReply {
  reply.serializer((text) => text as string);
  return reply
    .code(status)
    .headers({ location, "idempotency-replayed": "true" })
    .type("application/json")
    .send(body);
}
