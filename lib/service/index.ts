/**
 * signalbox/service: what a whole service needs around its supervision tree.
 *
 * A floor imports only from floors below it. The guarantees are numbered in docs/semantics.md.
 */

export {};
