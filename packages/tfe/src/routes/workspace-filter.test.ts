import { expect, it } from "vitest";
import type { TfeWorkspace } from "../port/workspace-port.ts";
import { workspaceFilter } from "./workspace-filter.ts";

const ONE: TfeWorkspace = {
  id: "1",
  name: "web-prod",
  project: "net",
  description: "",
  createdAtMs: 0,
  executionMode: "local",
  terraformVersion: "",
  workingDirectory: "",
  autoApply: false,
  tags: [
    { key: "app", value: "" },
    { key: "env", value: "prod" },
  ],
  lock: undefined,
};

it.each<[boolean, Record<string, string>]>([
  [true, {}],
  [true, { "search[name]": "b-p", unknown: "x" }],
  [false, { "search[name]": "test" }],
  [true, { "search[tags]": "app,env" }],
  [false, { "search[tags]": "app,other" }],
  [false, { "search[exclude-tags]": "env" }],
  [true, { "search[wildcard-name]": "*-prod" }],
  [false, { "search[wildcard-name]": "prod*" }],
  [true, { "search[wildcard-name]": "*b-p*" }],
  [true, { "filter[project][id]": "prj-net" }],
  [false, { "filter[project][id]": "prj-web" }],
  [true, { "filter[tagged][0][key]": "env", "filter[tagged][0][value]": "prod" }],
  [true, { "filter[tagged][0][key]": "app" }],
  [false, { "filter[tagged][0][key]": "env", "filter[tagged][0][value]": "test" }],
])("is %s for %o", (expected, query) => {
  expect(workspaceFilter(query)(ONE)).toBe(expected);
});
