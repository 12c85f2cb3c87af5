import { createRuntime } from "@stackwright/krt";
import {
  directStaleness,
  fanOut,
  OUTPUT,
  type Output,
  outputKey,
  STACK,
  type Stack,
  transitiveStaleness,
} from "./model.ts";

// Which stacks have to be deployed again? First a few stacks to watch it happen, then ten thousand.
const rt = createRuntime();
const stacks = rt.source<Stack>([], { kind: STACK, name: "stacks" });
const outputs = rt.source<Output>([], { kind: OUTPUT, name: "outputs" });
const direct = directStaleness(rt, stacks, outputs);
const staleness = transitiveStaleness(rt, stacks, direct);
const users = fanOut(rt, stacks);

/** Deploys a stack: it takes the inputs as they are now and publishes its outputs. */
function deploy(
  name: string,
  uses: readonly string[],
  publishes: Readonly<Record<string, string>>,
): void {
  rt.batch(() => {
    for (const [output, fingerprint] of Object.entries(publishes)) {
      outputs.set({ stack: name, name: output, fingerprint });
    }
    const inputs = uses.map((use) => {
      const [stack = "", output = ""] = use.split(".");
      const fingerprint = outputs.get(outputKey(stack, output))?.fingerprint ?? "absent";
      return { stack, output, fingerprint };
    });
    stacks.set({ name, deployment: (stacks.get(name)?.deployment ?? 0) + 1, inputs });
  });
}

async function show(what: string, work: () => void): Promise<void> {
  console.log(what);
  work();
  await rt.settled();
}

deploy("network", [], { vpc: "v1", subnets: "s1" });
deploy("database", ["network.subnets"], { url: "u1" });
deploy("service", ["network.vpc", "database.url"], { host: "h1" });
deploy("dashboard", ["service.host"], {});

const printing = staleness.subscribe(
  (event) => {
    if (event.new === undefined) {
      console.log(`  ${event.key}: gone`);
    } else if (event.old?.stale !== event.new.stale || event.new.stale) {
      const why = event.new.reasons.map(({ type, what }) => `${type} ${what}`).join(", ");
      console.log(`  ${event.key}: ${event.new.stale ? `stale (${why})` : "up to date"}`);
    }
  },
  { replay: false },
);

await show("The network gets new subnets:", () =>
  deploy("network", [], { vpc: "v1", subnets: "s2" }),
);
await show("The database follows, and has the same address as before:", () =>
  deploy("database", ["network.subnets"], { url: "u1" }),
);
await show("An output is withdrawn:", () => outputs.delete("service.host"));
await show("The dashboard no longer uses it:", () => deploy("dashboard", [], {}));
printing.unsubscribe();

const count = 10_000;
const start = performance.now();
rt.batch(() => {
  for (let i = 0; i < count; i++) {
    // Ten to a parent: four levels of stacks below the first.
    deploy(`s${i}`, i === 0 ? [] : [`s${Math.floor((i - 1) / 10)}.id`], { id: `${i}` });
  }
});
await rt.settled();
const loaded = performance.now();
const runsBefore = runsOf("direct") + runsOf("staleness");
outputs.set({ stack: "s10", name: "id", fingerprint: "changed" });
await rt.settled();
const changed = performance.now();

const stale = staleness.list().filter((one) => one.stale).length;
console.log(`${count} stacks more took ${(loaded - start).toFixed(0)} ms.`);
console.log(
  `s10 has ${users.get("s10")?.users} direct users. Its output changed: ${stale} stacks are stale after ` +
    `${runsOf("direct") + runsOf("staleness") - runsBefore} runs and ${(changed - loaded).toFixed(1)} ms.`,
);
rt.dispose();

function runsOf(name: string): number {
  return (
    rt
      .inspect()
      .collections()
      .find((one) => one.name === name)?.counters.runs ?? 0
  );
}
