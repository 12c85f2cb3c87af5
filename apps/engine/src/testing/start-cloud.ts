import { writeFile } from "node:fs/promises";
import { expect } from "vitest";
import { startApi } from "./start-api.ts";
import { terraformRoot } from "./terraform-roots.ts";

/** The workspaces of the account, in the API that commands use. */
export const WORKSPACES = "/api/v2/organizations/default/workspaces";
/** The host that configurations name. */
export const CLOUD_HOST = "stackwright.test";

type CloudRoot = Awaited<ReturnType<typeof terraformRoot>> & {
  /** The commands have another token from now on. */
  readonly useToken: (token: string) => Promise<void>;
};

/** A server whose services a file of the command names: what is looked at is not the transport. */
export async function startCloud(
  command: string,
  executor: "in-process" | "none" = "none",
  environment: Readonly<Record<string, string>> = {},
  options: Parameters<typeof startApi>[1] = {},
) {
  const api = await startApi(executor, options, environment);
  const { url } = api.server;
  const rootAs = async (
    given: string,
    env: Readonly<Record<string, string>> = {},
  ): Promise<CloudRoot> => {
    const root = await terraformRoot(command, env);
    const services = ["tfe.v2", "tfe.v2.1", "tfe.v2.2", "state.v2"].map(
      (name) => `"${name}" = "${url}/api/v2/"`,
    );
    services.push(`"modules.v1" = "${url}/terraform/v1/modules/"`);
    const useToken = async (token: string): Promise<void> =>
      writeFile(
        root.env["TF_CLI_CONFIG_FILE"] ?? "",
        `host "${CLOUD_HOST}" {\n  services = {\n    ${services.join("\n    ")}\n  }\n}\ncredentials "${CLOUD_HOST}" {\n  token = "${token}"\n}\n`,
      );
    await useToken(given);
    return { ...root, useToken };
  };
  const block = (kind: string, workspaces: string): string =>
    `terraform {\n  ${kind} {\n    hostname     = "${CLOUD_HOST}"\n    organization = "default"\n    workspaces {\n      ${workspaces}\n    }\n  }\n}\n`;
  const workspace = async (name: string, mode: "local" | "remote"): Promise<string> => {
    const body = { data: { attributes: { name, "execution-mode": mode } } };
    const made = await api.call("POST", WORKSPACES, { body });
    expect(made.status, made.text).toBe(201);
    return (made.json["data"] as { readonly id: string }).id;
  };
  return { ...api, rootAs, root: await rootAs(api.first.token), block, workspace };
}
