import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import * as pulumi from "@pulumi/pulumi";
import * as provider from "@pulumi/pulumi/provider/index.js";

/*
 * A provider on Pulumi's SDK for Node, for tests: plants as files in the folder GARDEN, and beds, which are components that
 * plant them. A plant that is called `dead` fails, one that is called `kill` ends the process when it has been planted, and one that is called `wait` is
 * planted and never answers. With parameters
 * `NAME VERSION` it becomes the package of that name.
 */

const folder = process.env.GARDEN ?? "";
if (folder === "") throw new Error("GARDEN has to name a folder");
let pkg = "garden";
let version = "1.0.0";

const text = { type: "string" };
const texts = { type: "array", items: text };

const schema = (): string =>
  JSON.stringify({
    name: pkg,
    version,
    resources: {
      [`${pkg}:index:Plant`]: {
        inputProperties: { kind: text, note: text },
        requiredInputs: ["kind"],
        properties: { kind: text, note: text, label: text },
        required: ["kind", "label"],
      },
      [`${pkg}:index:Bed`]: {
        isComponent: true,
        inputProperties: { kinds: texts, note: text },
        requiredInputs: ["kinds"],
        properties: {
          labels: texts,
          size: { type: "integer" },
          secretNote: { ...text, secret: true },
        },
        methods: { describe: `${pkg}:index:Bed/describe` },
      },
    },
    functions: {
      [`${pkg}:index:Bed/describe`]: {
        inputs: {
          properties: { __self__: { $ref: `#/resources/${pkg}:index:Bed` }, greeting: text },
          required: ["__self__"],
        },
        outputs: { properties: { text } },
      },
    },
  });

class Plant extends pulumi.CustomResource {
  declare readonly label: pulumi.Output<string>;

  constructor(name: string, args: pulumi.Inputs, options?: pulumi.CustomResourceOptions) {
    super(`${pkg}:index:Plant`, name, { label: undefined, ...args }, options);
  }
}

class Bed extends pulumi.ComponentResource {
  declare readonly labels: pulumi.Output<string[]>;

  constructor(name: string, args: pulumi.Inputs, options?: pulumi.ComponentResourceOptions) {
    super(
      `${pkg}:index:Bed`,
      name,
      options?.urn === undefined ? args : { labels: undefined },
      options,
      options?.urn !== undefined,
    );
  }
}

const pathOf = (id: string): string => join(folder, `${id}.json`);

const garden: provider.Provider = {
  version,
  getSchema: async () => schema(),
  parameterizeArgs: async ([name = "", wanted = ""]) => {
    if (!/^\d+\.\d+\.\d+$/.test(wanted)) throw new Error(`"${wanted}" is not a version`);
    pkg = name;
    version = wanted;
    return { name, version };
  },
  parameterizeValue: async (name, wanted, value) => {
    if (value !== "planted") throw new Error(`the value is "${value}"`);
    pkg = name;
    version = wanted;
    return { name, version };
  },
  check: async (_urn, _olds, news) => ({ inputs: news, failures: [] }),
  diff: async (_id, _urn, olds, news) => ({
    changes: olds.kind !== news.kind || olds.note !== news.note,
    replaces: olds.kind === news.kind ? [] : ["kind"],
  }),
  create: async (urn, inputs) => {
    if (inputs.kind === "dead") throw new Error("it is dead");
    const id = `${urn.split("::").at(-1)}-${inputs.kind}`;
    await mkdir(folder, { recursive: true });
    await writeFile(pathOf(id), JSON.stringify(inputs));
    if (inputs.kind === "kill") process.kill(process.pid, "SIGKILL");
    if (inputs.kind === "wait") await new Promise(() => undefined);
    return { id, outs: { ...inputs, label: `${inputs.kind} of ${pkg}` } };
  },
  update: async (id, _urn, _olds, news) => {
    await writeFile(pathOf(id), JSON.stringify(news));
    return { outs: { ...news, label: `${news.kind} of ${pkg}` } };
  },
  read: async (id) => {
    const found = await readFile(pathOf(id), "utf8").catch(() => "");
    if (found === "") return {};
    const inputs = JSON.parse(found);
    return { id, props: { ...inputs, label: `${inputs.kind} of ${pkg}` }, inputs };
  },
  delete: async (id) => rm(pathOf(id), { force: true }),
  construct: async (name, _type, inputs, options) => {
    const bed = new Bed(name, inputs, options);
    // One after the other, so that it is known which are there when one fails.
    const labels = pulumi.output(inputs.kinds).apply((kinds: string[]) => {
      const plants: Plant[] = [];
      for (const [index, kind] of kinds.entries()) {
        const plant = { kind, note: inputs.note };
        plants.push(
          new Plant(`${name}-${index}`, plant, { parent: bed, dependsOn: plants.slice(-1) }),
        );
      }
      return pulumi.all(plants.map(({ label }) => label));
    });
    const state = {
      labels,
      size: labels.apply((all) => all.length),
      secretNote: pulumi.secret(inputs.note ?? "none"),
    };
    return { urn: bed.urn, state };
  },
  call: async (_token, inputs) => {
    const bed = inputs.__self__ as Bed;
    const said = pulumi
      .all([bed.labels, inputs.greeting])
      .apply(([labels, greeting]) => `${greeting ?? "here are"} ${labels.join(", ")}`);
    return { outputs: { text: said } };
  },
};

pulumi.runtime.registerResourceModule("garden", "index", {
  version,
  construct: (name: string, _type: string, urn: string) => new Bed(name, {}, { urn }),
});

await provider.main(garden, process.argv.slice(2));
