import { type ResourceProvider, unimplementedProvider } from "@stackwright/mux";
import { expect, it } from "vitest";
import { parseJoinedProviders } from "./joined-file.ts";
import { parameterized } from "./parameterized.ts";

const asked: unknown[] = [];
const ledger: ResourceProvider = {
  ...unimplementedProvider(),
  parameterize: async ({ parameters }) => {
    asked.push(parameters);
    return { name: "ledger", version: "2.1.0" };
  },
  getSchema: async ({ subpackageName, subpackageVersion }) => ({
    schema: `${subpackageName} ${subpackageVersion}`,
  }),
};
const base = { version: 0, subpackageName: "", subpackageVersion: "" };

it("asks for the schema of the package that the parameters make", async () => {
  const provider = await parameterized(ledger, ["ledger", "2"], {});
  expect(asked.at(-1)).toMatchObject({ $case: "args", value: { args: ["ledger", "2"] } });
  expect(await provider.getSchema(base, {})).toEqual({ schema: "ledger 2.1.0" });
});

it("refuses a package that is another than the one of a recorded value", async () => {
  const value = { name: "ledger", version: "2.0.0", value: "AAEC" };
  await expect(parameterized(ledger, value, {})).rejects.toMatchObject({
    code: "ENGINE_PROVIDER_UNAVAILABLE",
    message: "the parameters are for ledger 2.0.0, and it became ledger 2.1.0",
  });
  expect(asked.at(-1)).toMatchObject({ value: { value: Buffer.from([0, 1, 2]) } });
});

it("says so where a plug-in takes no parameters", async () => {
  await expect(parameterized(unimplementedProvider(), ["x"], {})).rejects.toThrow(
    "it takes no parameters",
  );
});

it("takes parameters for plug-ins of Pulumi alone", async () => {
  const file = (source: string, parameters: unknown) =>
    parseJoinedProviders(
      Buffer.from(
        JSON.stringify({
          providers: { "example.com/acme/x": { programs: [{ source, parameters }] } },
        }),
      ),
    );
  const read = await file("stackwright.local/pulumi/lab", ["a", "1.0.0"]);
  expect(read.get("example.com/acme/x")?.programs[0]?.parameters).toEqual(["a", "1.0.0"]);
  await expect(file("hashicorp/random", ["a"])).rejects.toThrow('random takes no "parameters"');
  await expect(file("stackwright.local/pulumi/lab", [])).rejects.toThrow("parameters");
  await expect(
    file("stackwright.local/pulumi/lab", { name: "a", version: "1.0.0", value: "%%%" }),
  ).rejects.toThrow("parameters");
});
