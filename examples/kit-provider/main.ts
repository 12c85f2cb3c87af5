import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Value } from "@stackwright/cty";
import { createRouter, emptyObject, proposeState, typeOfBlock } from "@stackwright/mux/router";
import { createFileProvider } from "./file-provider.ts";

// The life of one resource, as an engine drives it: plan, apply, drift, destroy.
const folder = await mkdtemp(join(tmpdir(), "kit-provider-"));
const reference = { source: "stackwright.local/demo/file", version: "", alias: "" };

await using router = createRouter();
router.register({ reference, providers: [{ name: "file", provider: createFileProvider() }] });
const provider = router.provider(reference);

const { schema } = await provider.schema({});
const block = schema.resources.get("demo_file")?.block ?? schema.provider;
const absent = Value.null(typeOfBlock(block));

await provider.configure(
  {
    config: Value.object({ folder: Value.string(folder) }),
    engineVersion: "0.1.0",
    deferralAllowed: false,
  },
  {},
);

function describe(value: Value): string {
  if (value.isNull) return "nothing";
  const members = [...value.entries()].map(([name, member]) => {
    if (!member.isKnown) return `${name} (known after apply)`;
    return `${name} = ${member.isNull ? "null" : JSON.stringify(member.asString().slice(0, 16))}`;
  });
  return members.join(", ");
}

async function deploy(prior: Value, config: Value): Promise<Value> {
  const proposed = proposeState(block, prior, config);
  const request = { type: "demo_file", prior, config, proposed };
  const plan = await provider.plan(
    { ...request, priorPrivate: new Uint8Array(), deferralAllowed: false },
    {},
  );
  const { planned = proposed, plannedPrivate } = plan;
  process.stdout.write(`plan:  ${describe(prior)}  ->  ${describe(planned)}\n`);
  if (planned.rawEquals(prior)) return prior;
  const { state, diagnostics } = await provider.apply({ ...request, planned, plannedPrivate }, {});
  for (const { summary, detail } of diagnostics) throw new Error(`${summary}: ${detail}`);
  process.stdout.write(`apply: ${describe(state)}\n`);
  return state;
}

try {
  const config = Value.object([
    ...emptyObject(block).entries(),
    ["name", Value.string("hello.txt")],
    ["content", Value.string("Hello")],
  ]);
  let state = await deploy(absent, config);
  process.stdout.write(`files: ${(await readdir(folder)).join(", ")}\n`);

  state = await deploy(state, config);

  await writeFile(join(folder, "hello.txt"), "changed by hand");
  const read = { type: "demo_file", state, privateBytes: new Uint8Array(), deferralAllowed: false };
  const seen = await provider.read(read, {});
  process.stdout.write(`drift: ${describe(seen.state ?? absent)}\n`);
  state = await deploy(seen.state ?? absent, config);

  await deploy(state, absent);
  process.stdout.write(`files: ${(await readdir(folder)).length}\n`);
} finally {
  await rm(folder, { recursive: true });
}
