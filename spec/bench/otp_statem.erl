%% The state machine's part of the benchmarks, on OTP's own gen_statem.
-module(otp_statem).
-behaviour(gen_statem).
-export([flips/1, init/1, callback_mode/0, off/3, on/3]).

%% Calls that turn a lamp on and off, and say how often that was; one after the other.
flips(N) ->
    {ok, Lamp} = gen_statem:start_link(?MODULE, [], []),
    N = flip(Lamp, N, 0),
    gen_statem:stop(Lamp).

flip(_, 0, Flips) -> Flips;
flip(Lamp, N, _) -> flip(Lamp, N - 1, gen_statem:call(Lamp, flip, infinity)).

callback_mode() -> state_functions.

init([]) -> {ok, off, 0}.

off({call, From}, flip, Flips) -> {next_state, on, Flips + 1, {reply, From, Flips + 1}}.

on({call, From}, flip, Flips) -> {next_state, off, Flips + 1, {reply, From, Flips + 1}}.
