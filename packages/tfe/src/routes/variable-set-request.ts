import { TfeError } from "../errors.ts";
import type { RequestDocument } from "../json-api/request-document.ts";
import type { SetPlaces, TfeSetChange } from "../port/variable-set-port.ts";

/** Workspaces or projects that one request names. */
const MAX_ITEMS = 200;

/** Finds what ids name; `TFE_NOT_FOUND` where the caller does not see it. */
export interface PlaceFinder {
  /** Of ids of workspaces those that the port takes. */
  workspaces(ids: readonly string[]): readonly string[] | Promise<readonly string[]>;
  /** Of ids of projects their names. */
  projects(ids: readonly string[]): Promise<readonly string[]>;
}

/** What a request says of a set, apart from its name. `TFE_UNPROCESSABLE` for what is not offered. */
export async function setChangeOf(
  document: RequestDocument,
  find: PlaceFinder,
): Promise<TfeSetChange> {
  for (const name of ["vars", "stacks"]) {
    if ((document.manyRelated(name) ?? []).length > 0) {
      throw new TfeError(
        "TFE_UNPROCESSABLE",
        `not supported by this server: the relation "${name}"`,
      );
    }
  }
  const workspaces = document.manyRelated("workspaces");
  const projects = document.manyRelated("projects");
  return {
    description: document.text("description"),
    isGlobal: document.flag("global"),
    hasPriority: document.flag("priority"),
    workspaces: workspaces && (await find.workspaces(idsOf(workspaces))),
    projects: projects && (await find.projects(idsOf(projects))),
  };
}

/** What a request attaches a set to, or detaches it from. */
export async function placesOf(
  document: RequestDocument,
  kind: keyof SetPlaces,
  find: PlaceFinder,
): Promise<SetPlaces> {
  if (!document.isList) throw new TfeError("TFE_UNPROCESSABLE", '"data" has to be a list');
  const found = await find[kind](idsOf(document.items));
  return { workspaces: [], projects: [], [kind]: found };
}

function idsOf(items: readonly RequestDocument[]): readonly string[] {
  if (items.length > MAX_ITEMS) {
    throw new TfeError("TFE_UNPROCESSABLE", `a request names at most ${MAX_ITEMS} of these`);
  }
  const ids = items.map(({ id }) => {
    if (id === undefined) throw new TfeError("TFE_UNPROCESSABLE", '"id" has to be a text');
    return id;
  });
  return [...new Set(ids)];
}
