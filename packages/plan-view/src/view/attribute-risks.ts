import { Mark, type Value } from "@stackwright/cty";
import { membersOf, shapeOf } from "../diff/value-shape.ts";
import type { GivenChange } from "./given-plan.ts";

/** Switches that protect data, and what they are when they do not. */
const PROTECTIONS: readonly (readonly [
  name: RegExp,
  off: string,
  score: number,
  reason: string,
])[] = [
  [
    /^(?:deletion_protection|enable_deletion_protection|prevent_destroy|delete_protection)(?:_enabled)?$/,
    "false",
    90,
    "protection against deletion is turned off",
  ],
  [
    /^(?:storage_encrypted|encrypted|encryption_enabled|enable_encryption|encrypt_at_rest)$/,
    "false",
    90,
    "encryption is turned off",
  ],
  [
    /^(?:backup_retention_period|backup_retention_days|snapshot_retention_limit)$/,
    "0",
    90,
    "backups are turned off",
  ],
  [
    /^(?:backup_enabled|point_in_time_recovery_enabled|versioning_enabled)$/,
    "false",
    90,
    "backups or versions are turned off",
  ],
  [
    /^(?:block_public_acls|block_public_policy|ignore_public_acls|restrict_public_buckets)$/,
    "false",
    70,
    "the block of public access is removed",
  ],
];

const PUBLIC =
  /^(?:publicly_accessible|public_access|public_network_access_enabled|allow_public|public)$/;

/** Access lists that stand for everyone. */
const ACL = /^(?:acl|predefined_acl|container_access_type)$/;
const PUBLIC_ACL = /^(?:public-?read(?:-?write)?|authenticated-read|blob|container)$/i;

const OPEN_NETWORK = /^(?:0\.0\.0\.0\/0|::\/0)$/;
/** Where a rule names whom it lets in, every address has further names. */
const SOURCE = /^source_address_prefix(?:es)?$/;
const OPEN_SOURCE = /^(?:0\.0\.0\.0\/0|::\/0|\*|Internet|Any)$/i;
/** Where traffic may go, which lets no one in. */
const OUTWARD = /^(?:egress|routes?|destination.*)$/;
const OUTWARD_TYPE = /(?:^|_)(?:egress|routes?)(?:_|$)/;
/** What a rule lets in, besides from where. */
const TRAFFIC =
  /^(?:from_port|to_port|protocol|ip_protocol|ports?|allow|destination_port_ranges?)$/;

const WILDCARD = /"(?:\*|[a-z0-9-]+:\*)"/i;
const DENY = /"Effect"\s*:\s*"Deny"/i;

/** Risks that a changed attribute tells. Sensitive ones tell nothing. */
export function attributeRisks(change: GivenChange): (readonly [score: number, reason: string])[] {
  const { before, after, action } = change;
  const isHidden = [before, after].some((value) => value?.hasMark(Mark.sensitive) === true);
  if (isHidden) return [];
  const [was, is] = [membersOf(before), membersOf(after)];
  const found: (readonly [number, string])[] = [];
  if (action === "delete" && leafText(was.get("force_destroy")) === "true") {
    found.push([100, "force_destroy deletes what is inside as well"]);
  }
  if (after === undefined) return found;
  if (opensAccess(change.type, was, is)) found.push([70, "it opens access to every address"]);
  for (const [name, value] of is) {
    const former = was.get(name);
    if (value.hasMark(Mark.sensitive) || former?.hasMark(Mark.sensitive) === true) continue;
    if (former !== undefined && former.rawEquals(value)) continue;
    const text = leafText(value);
    for (const [pattern, off, score, reason] of PROTECTIONS) {
      if (former !== undefined && pattern.test(name) && text === off && leafText(former) !== off) {
        found.push([score, reason]);
      }
    }
    if (PUBLIC.test(name) && text === "true" && former !== undefined) {
      found.push([70, "public access is turned on"]);
    }
    if (ACL.test(name) && text !== undefined && PUBLIC_ACL.test(text)) {
      found.push([70, "public access is turned on"]);
    }
    if (/policy|document/.test(name)) {
      if (gains(former, value, WILDCARD)) found.push([70, "a policy gains a wildcard"]);
      if (former !== undefined && gains(value, former, DENY)) {
        found.push([70, "a policy loses what it denies"]);
      }
    }
    if (/^(?:ingress|egress|cidr_blocks|source_ranges)$/.test(name) && !value.isWhollyKnown) {
      found.push([30, "an access rule has parts that are known after apply"]);
    }
  }
  return found;
}

type Members = ReadonlyMap<string, Value>;

/** Whether a rule that lets every address in is new, or lets more in than before. */
function opensAccess(type: string, was: Members, is: Members): boolean {
  const decided = ["type", "direction", "access", "action", "rule_action"].map((name) =>
    leafText(is.get(name))?.toLowerCase(),
  );
  if (OUTWARD_TYPE.test(type)) return false;
  if (decided.some((text) => text !== undefined && /^(?:egress|outbound|deny)$/.test(text))) {
    return false;
  }
  for (const [name, value] of is) {
    if (OUTWARD.test(name)) continue;
    const former = was.get(name);
    const pattern = SOURCE.test(name) ? OPEN_SOURCE : OPEN_NETWORK;
    const isOpen = fitting(value, pattern) > 0;
    if (!isOpen) continue;
    if (gains(former, value, pattern) || hasNewRule(former, value, pattern)) return true;
    // The rule is the object itself: with other ports it is another rule.
    const isOther = [...is].some(
      ([other, now]) => TRAFFIC.test(other) && was.get(other)?.rawEquals(now) === false,
    );
    if (isOther) return true;
  }
  return false;
}

/** Whether an element that fits a pattern was not there before; its description does not count. */
function hasNewRule(before: Value | undefined, after: Value, pattern: RegExp): boolean {
  const known = new Set(elementsOf(before).map(ruleText));
  return elementsOf(after).some(
    (element) => fitting(element, pattern) > 0 && !known.has(ruleText(element)),
  );
}

/** Elements that are objects. */
function elementsOf(value: Value | undefined): Value[] {
  if (value === undefined || value.hasMark(Mark.sensitive)) return [];
  const [plain] = value.unmark();
  if (!plain.isKnown || plain.isNull) return [];
  const shape = shapeOf(plain);
  if (shape !== "items" && shape !== "set") return [];
  return plain.elements().filter((element) => membersOf(element).size > 0);
}

function ruleText(rule: Value): string {
  return JSON.stringify(
    [...membersOf(rule)]
      .filter(([name]) => name !== "description")
      .map(([name, value]) => [name, [...visibleTexts(value)].toSorted()]),
  );
}

/** Whether more leaves fit a pattern than before. */
function gains(before: Value | undefined, after: Value, pattern: RegExp): boolean {
  return fitting(after, pattern) > (before === undefined ? 0 : fitting(before, pattern));
}

function fitting(value: Value, pattern: RegExp): number {
  let count = 0;
  for (const text of visibleTexts(value)) {
    if (text.startsWith("{") || text.startsWith("[")) {
      count += text.match(new RegExp(pattern.source, `${pattern.flags}g`))?.length ?? 0;
    } else if (pattern.test(text)) count++;
  }
  return count;
}

/** The known leaves of a value that are not sensitive. */
function* visibleTexts(value: Value): Generator<string, void> {
  if (value.hasMark(Mark.sensitive)) return;
  const [plain] = value.unmark();
  if (!plain.isKnown || plain.isNull) return;
  const shape = shapeOf(plain);
  if (shape === "members")
    for (const member of membersOf(plain).values()) yield* visibleTexts(member);
  else if (shape === "items" || shape === "set") {
    for (const element of plain.elements()) yield* visibleTexts(element);
  } else {
    const text = leafText(plain);
    if (text !== undefined) yield text;
  }
}

function leafText(value: Value | undefined): string | undefined {
  if (value === undefined || value.isMarked || !value.isKnown || value.isNull) return undefined;
  switch (value.type.kind) {
    case "string":
      return value.asString();
    case "number":
      return value.asBigFloat().toString();
    case "bool":
      return String(value.asBoolean());
    case "list":
    case "set":
    case "map":
    case "object":
    case "tuple":
    case "capsule":
    case "dynamic":
    default:
      return undefined;
  }
}
