import type { VcsPullRequest, VcsTask } from "@stackwright/proto/stackwright";
import { newSpanId, newTraceId, type SpanPlace } from "../span/span.ts";
import { spanPlaceOf } from "../span/trace-context.ts";
import { TracedWork } from "../span/trace-scope.ts";
import type { VcsParts } from "./vcs-parts.ts";
import type { ConnectionReference } from "./vcs-places.ts";

/** Something that is known by a number, and not by a name which somebody gave it. */
const NUMBER = /^[0-9]+$/;

/**
 * Does a task as part of the trace of the delivery that asked for it: the newest one, with links to earlier ones. Where none asked, such as
 * when a run of a pull request has ended, the task continues where the present runs of the pull request were requested, `pull`.
 */
export async function tracedTask<T>(
  { clock, traces, spans }: VcsParts,
  reference: ConnectionReference,
  task: VcsTask,
  pull: Pick<VcsPullRequest, "traceParent"> | undefined,
  body: () => Promise<T>,
): Promise<T> {
  if (traces === undefined) return body();
  const asked = task.traceParents.flatMap((one) => spanPlaceOf(one) ?? []);
  const before = spanPlaceOf(pull?.traceParent ?? "");
  const parent = asked.at(-1) ?? before;
  const work = new TracedWork(spans === undefined ? parent : beneath(parent));
  for (const one of asked.slice(0, -1)) work.link(one);
  work.link(before);
  const startMs = clock.wallMs();
  let isFailed = true;
  try {
    const result = await traces.run(work, body);
    isFailed = false;
    return result;
  } finally {
    const { account, project, name } = reference;
    const isTold = asked.length > 0 || work.hasCalls;
    if (spans !== undefined && work.place !== undefined && isTold) {
      spans.add({
        ...work.place,
        ...(parent !== undefined && { parentSpanId: parent.spanId }),
        name: task.pullRequest === "" ? "advance branch" : "advance pull request",
        kind: "consumer",
        startMs,
        endMs: clock.wallMs(),
        isFailed,
        attributes: {
          "stackwright.account": account,
          "stackwright.project": project,
          "stackwright.connection": name,
          ...(NUMBER.test(task.pullRequest) && { "stackwright.pull_request": task.pullRequest }),
        },
        links: work.links,
      });
    }
  }
}

function beneath(parent: SpanPlace | undefined): SpanPlace {
  return {
    traceId: parent?.traceId ?? newTraceId(),
    spanId: newSpanId(),
    ...(parent?.isSampled === false && { isSampled: false }),
  };
}
