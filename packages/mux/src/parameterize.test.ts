import { RpcError } from "@stackwright/proto/grpc";
import { ParameterizeRequest } from "@stackwright/proto/pulumirpc";
import { expect, it } from "vitest";
import { createMux } from "./mux.ts";
import type { MuxServer } from "./mux-options.ts";
import { unimplementedProvider } from "./unimplemented-provider.ts";

/** A server that becomes another package by parameters, knows no parameters, or refuses them. */
function server(name: string, answer: "accepts" | "knows none" | "refuses"): MuxServer {
  const base = unimplementedProvider();
  return {
    name,
    connect: () => ({
      ...base,
      getSchema: async ({ subpackageName }) => {
        const own = subpackageName === "" ? name : subpackageName;
        const resources = { [`${own}:index:Thing`]: {} };
        return Promise.resolve({ schema: JSON.stringify({ name: own, resources }) });
      },
      ...(answer === "accepts" && {
        parameterize: async () => Promise.resolve({ name: "mint", version: "1.0.0" }),
      }),
      ...(answer === "refuses" && {
        parameterize: async () =>
          Promise.reject(new RpcError("INVALID_ARGUMENT", `${name} wants one word`)),
      }),
    }),
  };
}

const request = ParameterizeRequest.create({
  parameters: { $case: "args", value: { args: ["mint"] } },
});

it("parameters go to the server that takes them, and its package is served", async () => {
  const servers = [
    server("one", "knows none"),
    server("two", "accepts"),
    server("three", "refuses"),
  ];
  await using mux = await createMux({ servers });
  expect(await mux.parameterize(request, {})).toEqual({ name: "mint", version: "1.0.0" });
  expect(mux.explain("mint:index:Thing").uses).toMatchObject([{ server: "two" }]);
});

it("parameters that several servers take are refused with their names, and change nothing", async () => {
  const servers = [
    server("one", "accepts"),
    server("two", "knows none"),
    server("three", "accepts"),
  ];
  await using mux = await createMux({ servers });
  await expect(mux.parameterize(request, {})).rejects.toMatchObject({
    code: "MUX_PARAMETERIZE_AMBIGUOUS",
    message: expect.stringContaining("one, three"),
  });
  expect(mux.explain("mint:index:Thing").uses).toEqual([]);
});

it("parameters that no server takes fail with the reason of the one that says why", async () => {
  const servers = [server("one", "knows none"), server("two", "refuses")];
  await using mux = await createMux({ servers });
  await expect(mux.parameterize(request, {})).rejects.toThrow("two wants one word");
});
