export { ctyEquality } from "./equality-tester.ts";
