import type { PolicyFinding, PolicySet, PolicyVersion } from "@stackwright/proto/stackwright";
import { type Static, Type } from "typebox";
import { STACK_PATTERN } from "../../domain/stack-pattern.ts";
import { enforcementName, enforcementOf } from "../../policy/policy-places.ts";
import { timeOf } from "../runs/run-view.ts";

export const PolicySetName = Type.String({ pattern: "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$" });

export const Enforcement = Type.Union(
  [Type.Literal("advisory"), Type.Literal("overridable"), Type.Literal("mandatory")],
  {
    title: "PolicyEnforcement",
    description: "what a failure does: it is shown; the run waits for an override; the run ends",
  },
);
const patterns = (of: string) =>
  Type.Array(Type.String({ pattern: STACK_PATTERN }), {
    maxItems: 50,
    description: `patterns of names of ${of}, with * for any characters; empty for all`,
  });
const SETTINGS = {
  description: Type.Optional(Type.String({ maxLength: 1024 })),
  enforcement: Type.Optional(Enforcement),
  override_role: Type.Optional(
    Type.Union([Type.Literal("operator"), Type.Literal("admin")], {
      description: "who may let a plan pass that an overridable set forbids; admin by default",
    }),
  ),
  projects: Type.Optional(patterns("projects")),
  stacks: Type.Optional(patterns("stacks")),
  version: Type.Optional(
    Type.String({
      pattern: "^[0-9a-f]{64}$",
      description: "digest of the uploaded version that judges plans",
    }),
  ),
};
export const PolicySetSettings = Type.Object(SETTINGS, {
  additionalProperties: false,
  title: "PolicySetSettings",
});
const { version: _, ...FIRST_SETTINGS } = SETTINGS;
export const NewPolicySet = Type.Object(
  { name: PolicySetName, ...FIRST_SETTINGS },
  { additionalProperties: false, title: "NewPolicySet" },
);
const VersionView = Type.Object(
  {
    digest: Type.String({ description: "SHA-256 of the upload and its entry points" }),
    format: Type.String(),
    entrypoints: Type.Array(Type.String()),
    actor: Type.String(),
    created_at: Type.String(),
  },
  { title: "PolicyVersion" },
);
export const PolicySetView = Type.Object(
  {
    name: Type.String(),
    description: Type.String(),
    enforcement: Enforcement,
    override_role: Type.String(),
    projects: Type.Array(Type.String()),
    stacks: Type.Array(Type.String()),
    version: Type.Optional(Type.String({ description: "absent before the first upload" })),
    versions: Type.Array(VersionView),
  },
  { title: "PolicySet" },
);
const FindingView = Type.Object(
  {
    rule: Type.String(),
    message: Type.String(),
    address: Type.Optional(Type.String()),
    warning: Type.Boolean(),
  },
  { title: "PolicyFinding" },
);
export const OutcomeView = Type.Union(
  [Type.Literal("passed"), Type.Literal("failed"), Type.Literal("errored")],
  { title: "PolicyOutcome" },
);
export const VerdictView = Type.Object(
  {
    outcome: OutcomeView,
    findings: Type.Array(FindingView),
    cut: Type.Integer({ description: "findings for which there was no room" }),
    error: Type.Optional(Type.String()),
  },
  { title: "PolicyVerdict" },
);

/** What a request changes of a set. */
export function policySetChangeOf(given: Static<typeof PolicySetSettings>): Partial<PolicySet> {
  const {
    description,
    enforcement,
    override_role: overrideRole,
    projects,
    stacks,
    version,
  } = given;
  return {
    ...(description !== undefined && { description }),
    ...(enforcement !== undefined && { enforcement: enforcementOf(enforcement) }),
    ...(overrideRole !== undefined && { overrideRole }),
    ...(projects !== undefined && { projects: [...new Set(projects)] }),
    ...(stacks !== undefined && { stacks: [...new Set(stacks)] }),
    ...(version !== undefined && { version }),
  };
}

export function policySetViewOf(set: PolicySet): Static<typeof PolicySetView> {
  const { name, description, enforcement, overrideRole, projects, stacks, version, versions } = set;
  return {
    name,
    description,
    enforcement: enforcementName(enforcement),
    override_role: overrideRole === "" ? "admin" : overrideRole,
    projects: [...projects],
    stacks: [...stacks],
    ...(version !== "" && { version }),
    versions: versions.map(versionViewOf),
  };
}

function versionViewOf({
  digest,
  format,
  entrypoints,
  actor,
  atMs,
}: PolicyVersion): Static<typeof VersionView> {
  return { digest, format, entrypoints: [...entrypoints], actor, created_at: timeOf(atMs) };
}

export function findingViewOf({
  rule,
  message,
  address,
  isWarning,
}: PolicyFinding): Static<typeof FindingView> {
  return { rule, message, ...(address !== "" && { address }), warning: isWarning };
}
