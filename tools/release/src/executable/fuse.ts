/**
 * What Node looks for in its own program: followed by ":1" it runs what was added to it, by ":0" it is Node alone. Made of parts, so
 * that this text is not found where it is only named.
 */
export const FUSE = ["NODE", "SEA", "FUSE", "fce680ab2cc467b6e072b8b5df1996b2"].join("_");
