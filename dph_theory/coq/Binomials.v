(* Binomial coefficients without factorials of large numbers. *)
Require Import Reals Lra Lia. Open Scope R_scope.
Fixpoint falling (n k : nat) : R := match k with O => 1 | S j => falling n j * (IZR (Z.of_nat (n - j)) / IZR (Z.of_nat (S j))) end.
Lemma choose_falling : forall n k, (k <= n)%nat -> Binomial.C n k = falling n k.
Proof.
  intros n k. induction k as [|k IH]; intro L.
  - unfold Binomial.C. rewrite Nat.sub_0_r. simpl. assert (F := INR_fact_neq_0 n). field. exact F.
  - cbn [falling]. rewrite <- IH, <- !INR_IZR_INZ by lia. unfold Binomial.C. replace (n - k)%nat with (S (n - S k)) by lia.
    rewrite !fact_simpl, !mult_INR. assert (A := INR_fact_neq_0 k). assert (B := INR_fact_neq_0 (n - S k)).
    assert (D := not_0_INR (S k) ltac:(lia)). assert (E := not_0_INR (S (n - S k)) ltac:(lia)). field. auto.
Qed.
