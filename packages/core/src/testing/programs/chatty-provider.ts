import { toPulumiProvider } from "@stackwright/mux/adapters";
import { parseProviderArguments, runProvider } from "@stackwright/mux/host";
import { computed, createProvider, defineResource, required, types } from "@stackwright/mux/kit";
import { RpcError } from "@stackwright/proto/grpc";

/*
 * A provider process of the Pulumi protocol for tests, which cannot do without its engine, as the dynamic provider cannot. It has
 * the version that CHATTY_VERSION says, and logs what it makes. With parameters it says that it is the package of that name.
 */

const version = process.env.CHATTY_VERSION ?? "0.0.1";
if (parseProviderArguments(process.argv.slice(2)).engineAddress === undefined) {
  process.stderr.write("fatal: could not connect to host: missing engine address\n");
  process.exit(1);
}

await runProvider((host) => {
  const provider = createProvider({
    config: {},
    configure: () => undefined,
    resources: {
      chatty_note: defineResource({
        attributes: {
          text: required(types.string, { description: "What is written." }),
          made_by: computed(types.string),
        },
        create: async ({ text }) => {
          process.stderr.write(`writes ${text}\n`);
          await host.log({ severity: "info", message: `makes ${text}` });
          await host.log({ severity: "warning", message: "\u001b[2Jink is\nlow" });
          await host.log({ severity: "debug", message: "dips the pen" });
          return { made_by: version };
        },
        delete: () => undefined,
      }),
    },
  });
  const chatty = toPulumiProvider(provider, { package: "chatty", version });
  let name = "chatty";
  return {
    ...chatty,
    parameterize: async ({ parameters }) => {
      const recorded = parameters?.$case === "value" ? parameters.value : undefined;
      const [word = "", wanted = ""] = parameters?.$case === "args" ? parameters.value.args : [];
      if (recorded !== undefined && Buffer.from(recorded.value).toString() !== "planted") {
        throw new RpcError("INVALID_ARGUMENT", "this was not planted here");
      }
      name = recorded?.name ?? word;
      return Promise.resolve({ name, version: recorded?.version ?? wanted });
    },
    getSchema: async (request, context) => {
      const base = { ...request, subpackageName: "", subpackageVersion: "" };
      const { schema } = await chatty.getSchema(base, context);
      return { schema: schema.replace('"name":"chatty"', `"name":"${name}"`) };
    },
  };
});
