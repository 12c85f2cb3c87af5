import type { TfeWorkspace, WorkspaceTag } from "../port/workspace-port.ts";
import { projectId } from "./organization-routes.ts";

type Query = Readonly<Record<string, unknown>>;

/** Which workspaces the query of a list selects: all of its conditions hold. Unknown members of the query mean nothing. */
export function workspaceFilter(query: Query): (workspace: TfeWorkspace) => boolean {
  const name = textOf(query["search[name]"]);
  const wildcard = textOf(query["search[wildcard-name]"]);
  const pattern = wildcard === "" ? undefined : patternOf(wildcard);
  const project = textOf(query["filter[project][id]"]);
  const wanted = namesOf(query["search[tags]"]);
  const excluded = namesOf(query["search[exclude-tags]"]);
  const tagged = taggedOf(query);
  return (workspace) => {
    const keys = new Map(workspace.tags.map(({ key, value }) => [key, value]));
    return (
      workspace.name.includes(name) &&
      (pattern === undefined || pattern.test(workspace.name)) &&
      (project === "" || projectId(workspace.project) === project) &&
      wanted.every((key) => keys.has(key)) &&
      !excluded.some((key) => keys.has(key)) &&
      tagged.every(({ key, value }) => (value === "" ? keys.has(key) : keys.get(key) === value))
    );
  };
}

/** `filter[tagged][0][key]=env&filter[tagged][0][value]=prod` */
function taggedOf(query: Query): readonly WorkspaceTag[] {
  return Object.keys(query).flatMap((member) => {
    const [, index] = /^filter\[tagged\]\[([0-9]{1,4})\]\[key\]$/.exec(member) ?? [];
    if (index === undefined) return [];
    const value = textOf(query[`filter[tagged][${index}][value]`]);
    return [{ key: textOf(query[member]), value }];
  });
}

function namesOf(list: unknown): readonly string[] {
  return textOf(list)
    .split(",")
    .filter((name) => name !== "");
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** `*` stands for any characters at the beginning and at the end. */
function patternOf(wildcard: string): { test(name: string): boolean } {
  const core = wildcard.replace(/^\*|\*$/g, "");
  const isOpenBefore = wildcard.startsWith("*");
  const isOpenAfter = wildcard.endsWith("*");
  return {
    test: (name) => {
      if (isOpenBefore && isOpenAfter) return name.includes(core);
      if (isOpenBefore) return name.endsWith(core);
      return isOpenAfter ? name.startsWith(core) : name === core;
    },
  };
}
