import { silentLogger } from "@stackwright/base/logger";
import type { StackReference } from "@stackwright/core";
import { StackOutputs } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { STACK_OUTPUTS_KIND, stackPlace } from "../../domain/run-places.ts";
import { LiveView } from "../../live/live-view.ts";
import { addStack } from "../../queue/add-stack.ts";
import { transact } from "../../queue/transaction.ts";
import { createRunFixture } from "../../testing/run-fixture.ts";
import { openTopics, type Visible } from "./topic.ts";
import { streamTopics } from "./topic-stream.ts";

it("names to a reader no stack further up that it does not see, in snapshots and in changes", async () => {
  const { parts, storage, clock, put } = createRunFixture();
  const make = async (project: string, name: string): Promise<StackReference> => {
    const stack = await transact(parts, async (tx) =>
      addStack(tx, { account: "acme", project }, name),
    );
    if (stack === undefined) throw new Error("no stack");
    return stack.reference;
  };
  const [root, middle, shared, own] = [
    await make("hidden", "root"),
    await make("hidden", "middle"),
    await make("shared", "middle"),
    await make("web", "own"),
  ];
  const write = async (stack: StackReference, inputs: readonly StackReference[], revision = 1n) =>
    put(
      STACK_OUTPUTS_KIND,
      stackPlace(stack),
      StackOutputs.fromPartial({
        revision,
        inputs: inputs.map((one) => ({ ...one, name: "", revision: 1n })),
      }),
    );
  await write(root, []);
  await write(middle, [root]);
  await write(shared, [middle, root]);
  await write(own, [shared]);
  await write(root, [], 2n);
  using live = new LiveView({ storage, logger: silentLogger });
  const topicOf = openTopics(live);
  const leave = new AbortController();
  const read = async (isVisible: Visible, position?: string): Promise<string> => {
    const topics = [topicOf("stacks", "acme")];
    const options = { topics, epoch: "e", clock, isVisible, position };
    let text = "";
    for await (const event of streamTopics(options, leave.signal)) {
      text += event;
      if (/^event: (?:snapshot-end|delta)$/m.test(event)) return text;
    }
    return text;
  };
  const all = async (position?: string) => read(() => true, position);
  const some = async (position?: string) =>
    read(({ project }) => project !== undefined && project !== "hidden", position);
  await expect.poll(async () => all()).toContain('"behind":["hidden/middle","shared/middle"]');
  const limited = await some();
  expect(limited).toContain('"behind":["shared/middle"]');
  expect(limited).not.toContain('"behind":["hidden');
  const position = /^id: (.+)$/m.exec(limited)?.[1] ?? "";
  await write(shared, [middle]);
  await expect.poll(async () => all(position)).toContain('"behind":["hidden/middle"]');
  expect(await some(position)).not.toContain("behind");
  leave.abort();
});
