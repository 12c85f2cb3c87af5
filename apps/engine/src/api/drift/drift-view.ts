import {
  type DriftIgnore,
  DriftRule,
  type Project,
  type StackDrift,
} from "@stackwright/proto/stackwright";
import { type Static, Type } from "typebox";
import {
  allDriftOf,
  countDrift,
  ignoredOf,
  MAX_IGNORE_REASON,
  MAX_IGNORED_DAYS,
  MAX_IGNORES,
} from "../../domain/drift-ignore.ts";
import {
  DRIFT_REACTIONS,
  driftRuleOf,
  MAX_DRIFT_MINUTES,
  MAX_DRIFT_PARTS,
  MAX_PART_TYPES,
  MIN_DRIFT_MINUTES,
  nextOfAll,
  TYPE_PATTERN,
} from "../../domain/drift-rule.ts";
import { type FoundDrift, MAX_DRIFTED_TEXT } from "../../domain/found-drift.ts";
import { timeOf } from "../runs/run-view.ts";

type FoundObject = FoundDrift["objects"][number];

const Reaction = Type.Union(
  [Type.Literal("report"), Type.Literal("plan"), Type.Literal("repair"), Type.Literal("accept")],
  {
    description:
      "what follows where drift is found: nothing more, a plan that waits for approval, a plan that is applied where the project allows it, a run that records what was found and changes no object",
  },
);
const EveryMinutes = Type.Integer({
  minimum: MIN_DRIFT_MINUTES,
  maximum: MAX_DRIFT_MINUTES,
  description: "minutes between two checks",
});

const Parts = Type.Array(
  Type.Object(
    {
      types: Type.Array(Type.String({ pattern: TYPE_PATTERN }), {
        minItems: 1,
        maxItems: MAX_PART_TYPES,
        description: "patterns of types of objects, such as aws_iam_*",
      }),
      every_minutes: EveryMinutes,
    },
    { additionalProperties: false, title: "DriftPart" },
  ),
  { maxItems: MAX_DRIFT_PARTS, description: "objects that are checked more often than all" },
);

/** When stacks are checked, as a request says it. */
export const DriftRuleSettings = Type.Object(
  {
    every_minutes: EveryMinutes,
    reaction: Type.Optional(Reaction),
    paused: Type.Optional(Type.Boolean({ description: "not checked; false by default" })),
    parts: Type.Optional(Parts),
  },
  { additionalProperties: false, title: "DriftRule" },
);

const StackRule = Type.Object(
  {
    every_minutes: EveryMinutes,
    reaction: Reaction,
    paused: Type.Boolean(),
    parts: Parts,
    from: Type.Union([Type.Literal("stack"), Type.Literal("project")]),
    actor: Type.Optional(Type.String({ description: "who wrote the rule of the stack" })),
  },
  { title: "StackDriftRule" },
);

const DriftedObjectView = Type.Object(
  {
    address: Type.String(),
    deposed: Type.Optional(Type.String()),
    deleted: Type.Boolean({ description: "it is gone" }),
    attributes: Type.Array(Type.String(), { description: "names of those that differ" }),
    ignored_attributes: Type.Optional(
      Type.Array(Type.String(), {
        description: "names of those that differ, too, and are ignored",
      }),
    ),
  },
  { title: "DriftedObject" },
);

const IgnoredPlaceFields = {
  address: Type.String({
    minLength: 1,
    maxLength: MAX_DRIFTED_TEXT,
    description: "address of the object, as the drift has it",
  }),
  attribute: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: MAX_DRIFTED_TEXT,
      description: "without it all that differs of the object, also that it is gone",
    }),
  ),
};
const IgnoreTerms = {
  reason: Type.String({ minLength: 1, maxLength: MAX_IGNORE_REASON }),
  expires_in_seconds: Type.Integer({
    minimum: 1,
    maximum: MAX_IGNORED_DAYS * 86_400,
    description: "when it counts again",
  }),
};

/** A difference that is let be, as a request says it. */
export const NewDriftIgnore = Type.Object(
  { ...IgnoredPlaceFields, ...IgnoreTerms },
  { additionalProperties: false, title: "NewDriftIgnore" },
);

/** Several differences that are let be for one reason and one time, as a request says it. */
export const NewDriftIgnores = Type.Object(
  {
    differences: Type.Array(
      Type.Object(IgnoredPlaceFields, { additionalProperties: false, title: "IgnoredDifference" }),
      { minItems: 1, maxItems: MAX_IGNORES },
    ),
    ...IgnoreTerms,
  },
  { additionalProperties: false, title: "NewDriftIgnores" },
);

export const DriftIgnoreView = Type.Object(
  {
    id: Type.String(),
    address: Type.String(),
    attribute: Type.Optional(Type.String({ description: "absent: the whole object" })),
    reason: Type.String(),
    actor: Type.String(),
    at: Type.String(),
    until: Type.String(),
  },
  { title: "DriftIgnore" },
);

export const DriftView = Type.Object(
  {
    rule: Type.Optional(StackRule),
    next_at: Type.Optional(Type.String()),
    check: Type.Optional(Type.String({ description: "the run of a check that has not ended" })),
    asked: Type.Optional(
      Type.Object(
        {
          run: Type.String({ description: "the run that it will have" }),
          at: Type.String(),
          resources: Type.Array(Type.String(), { description: "addresses; none: all" }),
        },
        { description: "a check that hooks asked for, which is requested next" },
      ),
    ),
    checked_at: Type.Optional(Type.String()),
    run: Type.Optional(Type.String({ description: "the run of the last check that ended" })),
    changed: Type.Integer({ description: "objects that were changed outside" }),
    deleted: Type.Integer({ description: "objects that were deleted outside" }),
    since: Type.Optional(Type.String()),
    objects: Type.Array(DriftedObjectView, { description: "the first ones" }),
    ignored: Type.Optional(
      Type.Integer({ description: "objects that differ and are ignored; absent if none" }),
    ),
    ignored_objects: Type.Optional(Type.Array(DriftedObjectView)),
    ignores: Type.Optional(
      Type.Array(DriftIgnoreView, { description: "what is ignored, whether it differs or not" }),
    ),
    remedy: Type.Optional(Type.String({ description: "the run that was requested for it" })),
    problem: Type.Optional(Type.String()),
  },
  { title: "StackDrift" },
);

/** The drift of a stack as the API shows it. */
export function driftViewOf(
  drift: StackDrift,
  project: Project | undefined,
): Static<typeof DriftView> {
  const { nextAtMs, check, checkedAtMs, run, changed, deleted, sinceMs, ignores, remedy } = drift;
  const { counted, ignored } = countDrift(allDriftOf(drift), ignores);
  const { asked } = drift;
  const rule = drift.rule ?? project?.drift;
  const isChecked = driftRuleOf(drift, project) !== undefined;
  return {
    ...(rule !== undefined && {
      rule: {
        ...ruleViewOf(rule),
        from: drift.rule === undefined ? "project" : "stack",
        ...(drift.rule !== undefined && drift.actor !== "" && { actor: drift.actor }),
      },
    }),
    ...(isChecked && nextAtMs !== 0n && { next_at: timeOf(nextOfAll(drift)) }),
    ...(check !== "" && { check }),
    ...(asked !== undefined && {
      asked: { run: asked.run, at: timeOf(asked.atMs), resources: [...asked.resources] },
    }),
    ...(checkedAtMs !== 0n && { checked_at: timeOf(checkedAtMs) }),
    ...(run !== "" && { run }),
    changed,
    deleted,
    ...(sinceMs !== 0n && { since: timeOf(sinceMs) }),
    objects: counted.objects.map((one) => objectViewOf(one, ignoredOfAll(drift, one))),
    ...(ignored.objects.length > 0 && {
      ignored: ignored.changed + ignored.deleted,
      ignored_objects: ignored.objects.map((one) => objectViewOf(one)),
    }),
    ...(ignores.length > 0 && { ignores: ignores.map(ignoreViewOf) }),
    ...(remedy !== "" && { remedy }),
    ...(drift.lastProblem !== "" && { problem: drift.lastProblem }),
  };
}

/** The attributes of an object, of which others count, that are ignored. */
function ignoredOfAll(
  { objects, ignores }: StackDrift,
  { address, deposed }: FoundObject,
): readonly string[] {
  const whole = objects.find((one) => one.address === address && one.deposed === deposed);
  return whole === undefined ? [] : ignoredOf(whole, ignores).attributes;
}

function objectViewOf(
  { address, deposed, deleted, attributes }: FoundObject,
  ignored: readonly string[] = [],
): Static<typeof DriftedObjectView> {
  return {
    address,
    ...(deposed !== "" && { deposed }),
    deleted,
    attributes: [...attributes],
    ...(ignored.length > 0 && { ignored_attributes: [...ignored] }),
  };
}

/** A difference that is let be as the API shows it. */
export function ignoreViewOf(ignore: DriftIgnore): Static<typeof DriftIgnoreView> {
  const { id, address, attribute, reason, actor, atMs, untilMs } = ignore;
  return {
    id,
    address,
    ...(attribute !== "" && { attribute }),
    reason,
    actor,
    at: timeOf(atMs),
    until: timeOf(untilMs),
  };
}

/** A rule as a request gives it. */
export function driftRuleFrom(given: Static<typeof DriftRuleSettings>): DriftRule {
  const { every_minutes: everyMinutes, reaction = "report", paused = false, parts = [] } = given;
  return DriftRule.create({
    everyMinutes,
    paused,
    reaction: DRIFT_REACTIONS[reaction],
    parts: parts.map(({ types, every_minutes: minutes }) => ({ types, everyMinutes: minutes })),
  });
}

/** A rule as the API shows it; a reaction of a newer release is shown as the least. */
export function ruleViewOf({ everyMinutes, reaction, paused, parts }: DriftRule) {
  const names = Object.keys(DRIFT_REACTIONS) as (keyof typeof DRIFT_REACTIONS)[];
  const name = names.find((one) => DRIFT_REACTIONS[one] === reaction) ?? "report";
  return {
    every_minutes: everyMinutes,
    reaction: name,
    paused,
    parts: parts.map((part) => ({ types: [...part.types], every_minutes: part.everyMinutes })),
  };
}
