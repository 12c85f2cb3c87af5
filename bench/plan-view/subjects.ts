import { fromNative, type NativeInput } from "@stackwright/cty";
import type { planView } from "@stackwright/plan-view";

type GivenPlan = Parameters<typeof planView>[0];

/** One object before and after, as plain data. */
export interface Sides {
  readonly before: NativeInput;
  readonly after: NativeInput;
}

/** An object whose tag, policy and list of environment variables change. */
function sidesOf(index: number): Sides {
  const version = (changed: boolean): NativeInput => ({
    ...Object.fromEntries(
      Array.from({ length: 12 }, (_, at) => [`attribute_${at}`, `value ${at} of ${index}`]),
    ),
    tags: { service: `s${index % 50}`, version: changed ? "2" : "1" },
    environment: [
      ...(changed ? [{ name: "NEW", value: "0" }] : []),
      ...Array.from({ length: 5 }, (_, at) => ({
        name: `N${at}`,
        value: changed && at === 3 ? "x" : `${at}`,
      })),
    ],
    policy: JSON.stringify({
      Statement: [
        { Sid: "Read", Effect: "Allow", Action: ["s3:Get"], Resource: `arn:${index}` },
        { Sid: "Write", Effect: "Allow", Action: [changed ? "s3:Put" : "s3:Post"], Resource: "*" },
      ],
    }),
  });
  return { before: version(false), after: version(true) };
}

/** Objects of a plan as plain data. */
export function sides(count: number): readonly Sides[] {
  return Array.from({ length: count }, (_, index) => sidesOf(index));
}

/** A plan in which every object changes, in 20 modules. */
export function planOf(objects: readonly Sides[]): GivenPlan {
  return {
    stack: "shop/prod",
    revision: 1n,
    mode: "normal",
    partial: false,
    createdAtMs: 0,
    outputs: [],
    drift: [],
    checks: [],
    changes: objects.map(({ before, after }, index) => ({
      address: `module.m${index % 20}.aws_ecs_service.s${index}`,
      deposed: "",
      mode: "managed",
      type: "aws_ecs_service",
      name: `s${index}`,
      module: `module.m${index % 20}`,
      key: undefined,
      action: "update",
      before: fromNative(before),
      after: fromNative(after),
      replacePaths: [],
      causes: [],
    })),
  };
}

/** A list of objects without a key, of which half of the members of each change, and one is new in front. */
export function longList(count: number): Sides {
  const items = (changed: boolean): NativeInput[] =>
    Array.from({ length: count }, (_, index) =>
      Object.fromEntries(
        Array.from({ length: 8 }, (__, at) => [
          `m${at}`,
          at < 3 && changed ? `new ${at} of ${index}` : `value ${at} of ${index}`,
        ]),
      ),
    );
  return { before: { list: items(false) }, after: { list: [{ m0: "first" }, ...items(true)] } };
}
