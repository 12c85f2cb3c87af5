import type { ServeParts } from "../serve.ts";
import { startApi } from "./start-api.ts";

const ORGANIZATION = "/api/v2/organizations/default";

/** A resource of an answer. */
interface TfeData {
  readonly id: string;
  readonly type: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly relationships: Readonly<
    Record<string, { readonly data: { readonly id: string } | readonly { readonly id: string }[] }>
  >;
}

/** A server with requests about variables and variable sets, as clients of workspaces form them. */
export async function startVariables(
  executor: "in-process" | "none" = "none",
  parts: Pick<ServeParts, "plugins"> = {},
) {
  const api = await startApi(executor, {}, {}, parts);
  /** Sends attributes and relations as a document. */
  const send = async (
    method: string,
    path: string,
    attributes?: object,
    more: {
      readonly relationships?: object;
      readonly token?: string;
      readonly data?: unknown;
    } = {},
  ) => {
    const { relationships, token, data } = more;
    const document = data ?? { type: "", attributes, ...(relationships && { relationships }) };
    const hasBody = attributes !== undefined || relationships !== undefined || data !== undefined;
    const answer = await api.call(method, path.startsWith("/") ? path : `/api/v2/${path}`, {
      ...(token !== undefined && { token }),
      ...(hasBody && { body: { data: document } }),
    });
    const { data: one } = answer.json as { readonly data: TfeData };
    const { data: many } = answer.json as { readonly data: readonly TfeData[] };
    const detail = (answer.json["errors"] as { readonly detail: string }[] | undefined)?.[0]
      ?.detail;
    return { ...answer, one, many, detail };
  };
  const workspace = async (name: string, project = "default"): Promise<string> => {
    const made = await api.call("POST", `/api/v1/projects/${project}/stacks`, { body: { name } });
    if (made.status !== 201) throw new Error(made.text);
    const all = await send("GET", `${ORGANIZATION}/workspaces?page%5Bsize%5D=100`);
    const found = all.many.find(
      ({ attributes, relationships: { project: of } }) =>
        String(attributes["name"]).endsWith(name) &&
        of !== undefined &&
        "id" in of.data &&
        of.data.id === `prj-${project}`,
    );
    return found?.id ?? "";
  };
  const set = async (
    attributes: object,
    relationships?: object,
    token?: string,
  ): Promise<TfeData> => {
    const more = { ...(relationships && { relationships }), ...(token !== undefined && { token }) };
    const made = await send("POST", `${ORGANIZATION}/varsets`, attributes, more);
    if (made.status !== 201) throw new Error(made.text);
    return made.one;
  };
  /** Ids of what a set is attached to. */
  const attached = async (id: string, to: "workspaces" | "projects", token?: string) => {
    const shown = await send(
      "GET",
      `varsets/${id}`,
      undefined,
      token === undefined ? {} : { token },
    );
    const data = shown.one.relationships[to]?.data as readonly { readonly id: string }[];
    return data.map((each) => each.id).toSorted();
  };
  return { ...api, send, workspace, set, attached };
}
