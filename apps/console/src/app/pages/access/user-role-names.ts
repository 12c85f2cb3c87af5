/** The roles that a user or a team may be given, the least first. */
export const USER_ROLE_NAMES = ["viewer", "planner", "operator", "publisher", "admin"] as const;

export type UserRoleName = (typeof USER_ROLE_NAMES)[number];
