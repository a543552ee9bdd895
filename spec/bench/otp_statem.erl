%% The state machine's part of the benchmarks, on OTP's own gen_statem.
-module(otp_statem).
-behaviour(gen_statem).
-export([flips/1, init/1, callback_mode/0, off/3, on/3]).

%% Casts that turn a lamp on and off. After 500 of them a call waits until they are handled.
flips(N) ->
    {ok, Lamp} = gen_statem:start_link(?MODULE, [], []),
    N = flip(Lamp, N, 0),
    gen_statem:stop(Lamp).

flip(_, 0, Flips) -> Flips;
flip(Lamp, N, _) ->
    Batch = min(N, 500),
    [gen_statem:cast(Lamp, flip) || _ <- lists:seq(1, Batch)],
    flip(Lamp, N - Batch, gen_statem:call(Lamp, flips, infinity)).

callback_mode() -> state_functions.

init([]) -> {ok, off, 0}.

off(cast, flip, Flips) -> {next_state, on, Flips + 1};
off({call, From}, flips, Flips) -> {keep_state, Flips, {reply, From, Flips}}.

on(cast, flip, Flips) -> {next_state, off, Flips + 1};
on({call, From}, flips, Flips) -> {keep_state, Flips, {reply, From, Flips}}.
