import type { NamedStack } from "@stackwright/core";
import {
  ConfigurationVersion,
  Project,
  RunTrigger,
  Schedule,
  Stack,
} from "@stackwright/proto/stackwright";
import type { StorageBackend } from "@stackwright/storage";
import { projectPlace } from "../../domain/project-settings.ts";
import { type RecordKind, typeUrlOf } from "../../domain/record-kind.ts";
import { memberPlace, type Place, projectTenancy, STACK_KIND } from "../../domain/run-places.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { MODES, type SimCase } from "./sim-case.ts";

/** The configuration of every stack. */
export const CONFIGURATION = "c".repeat(64);
const ACCOUNT = "acme";
/** Who wrote the schedules and the triggers. */
const AUTHOR = "dora";

/** The stacks of a case. */
export function stacksOf({ stacks }: SimCase): readonly NamedStack[] {
  return stacks.map((project, index) => ({
    name: `s${index}`,
    reference: {
      account: ACCOUNT,
      project: `p${project}`,
      stack: `01J000000000000000000000S${index}`,
    },
    description: "",
    createdAtMs: 0,
    adoption: undefined,
  }));
}

/** Stores the stacks with a configuration each, and what requests runs of them by itself. */
export async function prepareStacks(
  storage: StorageBackend,
  given: SimCase,
  stacks: readonly NamedStack[],
  nowMs: number,
): Promise<void> {
  const put = async <M>(kind: RecordKind<M>, place: Place, message: M): Promise<void> => {
    const uid = `${kind.type.kind} ${place.name}`;
    await storage.writeCAS({
      id: { uid, type: kind.type, ...place },
      version: "",
      generation: uid,
      metadata: {},
      status: {},
      data: { typeUrl: typeUrlOf(kind.type), value: kind.codec.encode(message).finish() },
    });
  };
  for (const project of new Set(stacks.map(({ reference }) => reference.project))) {
    const rule = {
      name: project,
      requiredApprovals: 1,
      excludeAuthor: given.excludesAuthors,
      approvalWaitMs: BigInt(given.approvals.waitMs),
      approvalValidMs: BigInt(given.approvals.validMs),
    };
    await put(
      SERVER_KINDS.project,
      projectPlace({ account: ACCOUNT, project }),
      Project.create(rule),
    );
  }
  for (const { name, reference } of stacks) {
    const stack = Stack.create({ id: reference.stack });
    await put(STACK_KIND, { tenancy: projectTenancy(reference), name }, stack);
    const version = ConfigurationVersion.create({ digest: CONFIGURATION });
    await put(SERVER_KINDS.configuration, memberPlace(reference, CONFIGURATION), version);
  }
  for (const [index, { stack: at, atMs, repeats, mode, autoApply }] of given.schedules.entries()) {
    const stack = stacks[at];
    if (stack === undefined) continue;
    const id = `schedule${index}`;
    const schedule = Schedule.create({
      id,
      stackName: stack.name,
      cron: repeats ? "*/5 * * * *" : "",
      zone: "UTC",
      mode: MODES[mode],
      autoApply,
      actor: AUTHOR,
      nextAtMs: BigInt(nowMs + atMs),
    });
    await put(SERVER_KINDS.schedule, memberPlace(stack.reference, id), schedule);
  }
  for (const [
    index,
    { producer: from, consumer: to, mode, autoApply },
  ] of given.triggers.entries()) {
    const [producer, consumer] = [stacks[from], stacks[to]];
    if (producer === undefined || consumer === undefined) continue;
    const id = `trigger${index}`;
    const trigger = RunTrigger.create({
      id,
      stackName: consumer.name,
      producerProject: producer.reference.project,
      producer: producer.reference.stack,
      producerName: producer.name,
      mode: MODES[mode],
      autoApply,
      actor: AUTHOR,
    });
    await put(SERVER_KINDS.trigger, memberPlace(consumer.reference, id), trigger);
  }
}
