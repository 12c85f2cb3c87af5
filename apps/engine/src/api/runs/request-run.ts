import { isEnded, type NamedStack } from "@stackwright/core";
import { type Run, Run_Mode } from "@stackwright/proto/stackwright";
import type { FastifyReply, FastifyRequest } from "fastify";
import { ServerError } from "../../domain/server-error.ts";
import { addRun } from "../../queue/enqueue.ts";
import { phaseOf } from "../../queue/run-row.ts";
import { transact } from "../../queue/transaction.ts";
import type { ApiParts } from "../api-parts.ts";
import { runViewOf } from "./run-view.ts";

type Requested = Omit<Parameters<typeof addRun>[1], "reference" | "stackName" | "actor">;

/** Enqueues the run of a request, and answers; the answer is stored with the run where the request has an idempotency key. */
export async function requestRun(
  parts: ApiParts,
  request: FastifyRequest,
  reply: FastifyReply,
  { reference: stack, name }: NamedStack,
  requested: Requested,
): Promise<FastifyReply> {
  const { actor } = parts.principalOf(request);
  const reference = { stack, run: parts.token() };
  const location = `/api/v1/projects/${stack.project}/stacks/${name}/runs/${reference.run}`;
  const run = await transact(parts.audited(request), async (tx) => {
    const added = await addRun(tx, { ...requested, reference, stackName: name, actor });
    parts.answerWithChange(request, {
      status: 201,
      location,
      body: JSON.stringify(runViewOf(added)),
    });
    return added;
  });
  return reply.code(201).header("location", location).send(runViewOf(run));
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
