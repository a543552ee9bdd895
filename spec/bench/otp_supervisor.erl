%% The supervisor's part of the benchmarks, on OTP's own supervisor.
-module(otp_supervisor).
-behaviour(supervisor).
-export([children/1, init/1, start_child/0]).

%% Children are added one after the other, each when the one before is up, and are stopped with their supervisor.
children(N) ->
    process_flag(trap_exit, true),
    {ok, Supervisor} = supervisor:start_link(?MODULE, []),
    add(Supervisor, N),
    N = proplists:get_value(active, supervisor:count_children(Supervisor)),
    exit(Supervisor, shutdown),
    receive {'EXIT', Supervisor, shutdown} -> ok end.

add(_, 0) -> ok;
add(Supervisor, N) ->
    {ok, _} = supervisor:start_child(Supervisor, #{id => N, start => {?MODULE, start_child, []}}),
    add(Supervisor, N - 1).

start_child() ->
    proc_lib:start_link(erlang, apply, [fun() -> proc_lib:init_ack({ok, self()}), receive after infinity -> ok end end, []]).

init([]) -> {ok, {#{}, []}}.
