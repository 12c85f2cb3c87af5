import { byKeys, createRuntime } from "@stackwright/krt";
import { expect, it, onTestFinished } from "vitest";
import { EventLog } from "../../live/event-log.ts";
import { describeObject } from "./live-object.ts";

it("names no object of another account, where one account's are derived from the other's", async () => {
  const rt = createRuntime({ explain: true });
  onTestFinished(() => rt.dispose());
  const outputs = rt.source<{ readonly key: string; readonly reads: string; readonly n: number }>(
    [
      { key: "us/web/a", reads: "them/web/secret", n: 1 },
      { key: "them/web/secret", reads: "us/web/a", n: 1 },
    ],
    { name: "outputs" },
  );
  const read = rt.derive(
    outputs,
    (ctx, { key, reads }) => ({ key, n: ctx.fetch(outputs, byKeys([reads]))[0]?.n }),
    { name: "read" },
  );
  using events = new EventLog(rt, { capacity: 10, nowMs: () => 0 });
  await rt.settled();
  outputs.set({ key: "them/web/secret", reads: "us/web/a", n: 2 });
  await rt.settled();
  const live = { inspector: rt.inspect(), events };
  const shown = [outputs, read].map((of) => describeObject(live, of, "us/web/a", "us"));
  expect(shown).toMatchObject([
    { present: true, dependants: [{ collection: "read", key: "us/web/a" }], events: [] },
    {
      derived_from: {
        key: "us/web/a",
        cause: { collection: "outputs", key: "" },
        dependencies: [{ collection: "outputs", filters: "keys", matches: 1 }],
      },
      events: [{ type: "update" }],
    },
  ]);
  expect(JSON.stringify(shown)).not.toContain("secret");
});
