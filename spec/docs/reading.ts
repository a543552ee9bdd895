// Measures how hard a page is to read: the grade of its sentences by Flesch and Kincaid, and the words of its longest one.

import { fleschKincaid } from "flesch-kincaid";
import { syllable } from "syllable";
import { type Sentence, sentences } from "./prose.js";

export interface Reading {
  readonly sentences: number;
  /** Years of school after which a reader follows without effort (Flesch and Kincaid, 1975). */
  readonly grade: number;
  /** With their words and grades: the longest first. */
  readonly longest: readonly Measured[];
  /** The hardest first. */
  readonly hardest: readonly Measured[];
}

export interface Measured extends Sentence {
  readonly words: number;
  readonly grade: number;
}

/** The words of a sentence; numbers are words, too, and so is what a hyphen joins. */
const wordsIn = (text: string): readonly string[] => text.match(/[\p{L}\p{N}][\p{L}\p{N}'’.,-]*/gu) ?? [];

export function readingOf(markdown: string): Reading {
  let allWords = 0;
  let allSyllables = 0;
  const measured = sentences(markdown).map((sentence): Measured => {
    const own = wordsIn(sentence.text);
    const syllables = own.reduce((sum, word) => sum + Math.max(1, syllable(word)), 0);
    allWords += own.length;
    allSyllables += syllables;
    const grade = fleschKincaid({ sentence: 1, word: own.length, syllable: syllables });
    return { ...sentence, words: own.length, grade };
  });
  const grade = fleschKincaid({ sentence: measured.length, word: allWords, syllable: allSyllables });
  return {
    sentences: measured.length,
    grade,
    longest: [...measured].sort((a, b) => b.words - a.words),
    hardest: [...measured].sort((a, b) => b.grade - a.grade),
  };
}
